// SPDX-License-Identifier: MIT
// The bit map of a mixed slab (mixed_slab.hpp). Each function looks at 64 words at most, or at a block.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "heap/base/size_class.hpp"

namespace heapwright::heap {

inline constexpr std::uint32_t granule_bytes = 16;
inline constexpr std::uint32_t granules = unit_bytes / granule_bytes;
inline constexpr std::uint32_t granule_words = granules / 64;

// Of each granule of a unit: whether it is in use, and behind these, whether a block begins there.
class Granules {
 public:
  explicit Granules(std::uint64_t* words) noexcept : used_(words), starts_(words + granule_words) {}

  bool is_used(std::uint32_t at) const noexcept { return (used_[at / 64] >> at % 64 & 1) != 0; }
  bool is_start(std::uint32_t at) const noexcept { return (starts_[at / 64] >> at % 64 & 1) != 0; }
  std::uint32_t next_free(std::uint32_t from) const noexcept { return find(used_, ~std::uint64_t{0}, from); }
  std::uint32_t next_used(std::uint32_t from) const noexcept { return find(used_, 0, from); }
  std::uint32_t end_of_block(std::uint32_t begin) const noexcept {
    return std::min(next_free(begin + 1), find(starts_, 0, begin + 1));
  }
  // The begin of the hole that ends at `end`.
  std::uint32_t begin_of_hole(std::uint32_t end) const noexcept {
    while (end % 64 != 0 && !is_used(end - 1)) --end;
    if (end % 64 != 0) return end;
    std::uint32_t word = end / 64;
    while (word != 0 && used_[word - 1] == 0) --word;
    return word == 0 ? 0 : word * 64 - static_cast<std::uint32_t>(std::countl_zero(used_[word - 1]));
  }
  // The block around a granule in use.
  std::uint32_t begin_of_block(std::uint32_t at) const noexcept {
    while (!is_start(at)) --at;
    return at;
  }
  void take(std::uint32_t begin, std::uint32_t end) noexcept {
    assign(begin, end, true);
    starts_[begin / 64] |= std::uint64_t{1} << begin % 64;
  }
  void give(std::uint32_t begin, std::uint32_t end) noexcept {
    assign(begin, end, false);
    starts_[begin / 64] &= ~(std::uint64_t{1} << begin % 64);
  }

 private:
  static std::uint32_t find(const std::uint64_t* words, std::uint64_t flip, std::uint32_t from) noexcept {
    if (from >= granules) return granules;
    std::uint32_t i = from / 64;
    std::uint64_t word = (words[i] ^ flip) & ~std::uint64_t{0} << from % 64;
    while (word == 0) {
      if (++i == granule_words) return granules;
      word = words[i] ^ flip;
    }
    return i * 64 + static_cast<std::uint32_t>(std::countr_zero(word));
  }
  void assign(std::uint32_t begin, std::uint32_t end, bool is_used) noexcept {
    while (begin < end) {
      const std::uint32_t in_word = std::min(end - begin, 64 - begin % 64);
      const std::uint64_t mask = ~std::uint64_t{0} >> (64 - in_word) << begin % 64;
      used_[begin / 64] = is_used ? used_[begin / 64] | mask : used_[begin / 64] & ~mask;
      begin += in_word;
    }
  }

  std::uint64_t* used_;
  std::uint64_t* starts_;
};

}  // namespace heapwright::heap
