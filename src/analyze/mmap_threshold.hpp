// SPDX-License-Identifier: MIT
// The size from which the C library gives a block a mapping of its own: it
// starts at 128 KiB, and each free of a larger such block raises it to that
// block's size. Followed from the frees alone; a setting may forbid it.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/facts/heap_parts.hpp"
#include "analyze/sites.hpp"

namespace heapwright::analyze {

// The size of a block with a mapping of its own leaves 0 in these bits, that of any other 8:
// chunks are multiples of 16, with headers of 16 and 8 bytes.
constexpr bool is_mapped_chunk(std::uint64_t usable_bytes) noexcept { return usable_bytes % 16 == 0; }

class MmapThreshold {
 public:
  static constexpr std::uint64_t first_bytes = std::uint64_t{128} << 10;

  // Of a block of the C library: whether it has a mapping of its own, as far as its usable size tells.
  static constexpr bool is_mapped_apart(std::uint64_t usable_bytes) noexcept {
    return usable_bytes >= first_bytes / 2 && is_mapped_chunk(usable_bytes);
  }

  // Of another allocator nothing is followed.
  explicit MmapThreshold(bool is_glibc) : least_size_(is_glibc ? first_bytes - 4096 : UINT64_MAX) {}

  // Frees of smaller blocks change nothing.
  std::uint64_t least_size() const noexcept { return least_size_; }
  // A call of free, not of realloc.
  void add_free(std::uint64_t size, std::uint64_t excess, std::uint32_t stack, std::uint64_t time_ns);
  std::vector<ThresholdRaise> finish(const SiteMap& sites) const;

 private:
  std::uint64_t threshold_ = first_bytes;
  std::uint64_t least_size_;
  std::vector<ThresholdRaise> raises_;  // `site` is the stack
};

}  // namespace heapwright::analyze
