// SPDX-License-Identifier: MIT
// One histogram per site, kept as small as its values allow: a span of 32-bit counts over the octaves the
// site has seen, which grows when a value falls outside. A site with one size costs 32 bytes, not 2 KB.
//
// Invariant: span.base % 8 == 0 and span.length % 8 == 0.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyze/zeroed_array.hpp"

namespace heapwright::analyze {

class SiteHistograms {
 public:
  SiteHistograms() = default;
  // most_counts: limit over all sites, 4 bytes each.
  SiteHistograms(std::size_t site_count, std::size_t most_counts)
      : spans_(site_count), most_counts_(most_counts) {}

  [[gnu::always_inline]] void add(std::uint32_t site, std::uint32_t bucket, std::uint64_t weight) {
    const auto& span = spans_[site];
    const auto index = bucket - span.base;  // wraps below base, so one comparison suffices
    if (index < span.length) [[likely]] {
      auto& count = pool_[span.offset + index];
      const auto sum = count + weight;
      count = static_cast<std::uint32_t>(sum);
      if (sum > UINT32_MAX) [[unlikely]] {
        carry(site, bucket, sum >> 32);
      }
    } else {
      add_outside(site, bucket, weight);
    }
  }
  // Adds one site's counts to `counts`, one value per bucket.
  void add_to(std::uint32_t site, std::vector<std::uint64_t>& counts) const;
  // The weight of values that did not fit: they are in no histogram.
  std::uint64_t left_out() const noexcept { return left_out_; }

 private:
  struct Span {
    std::uint32_t offset;
    std::uint16_t base;
    std::uint16_t length;
  };
  static constexpr std::size_t octaves = 62;

  void add_outside(std::uint32_t site, std::uint32_t bucket, std::uint64_t weight);
  void carry(std::uint32_t site, std::uint32_t bucket, std::uint64_t high);
  bool take_span(std::uint32_t length, std::uint32_t& offset);

  ZeroedArray<Span> spans_;
  std::vector<std::uint32_t> pool_;
  std::array<std::vector<std::uint32_t>, octaves + 1> free_;  // offsets, by length / 8
  std::unordered_map<std::uint64_t, std::uint64_t> carried_;  // site << 9 | bucket -> 2^32s
  std::size_t most_counts_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace heapwright::analyze
