// SPDX-License-Identifier: MIT
// Request size -> size class -> block size, and the number of units of the class's
// slabs, by arithmetic or by tables made at compile time.
//
//   class 0        requests of 0 bytes; served as class 1
//   class 1        8 bytes
//   class 2..257   16, 32 ... 4096 bytes
//   class 258..    4160, 4224 ... 65536 bytes
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "heap/base/checked_size.hpp"

namespace heapwright::heap {

inline constexpr std::size_t unit_shift = 16;
inline constexpr std::size_t unit_bytes = std::size_t{1} << unit_shift;
inline constexpr std::size_t small_limit_bytes = 4096;
inline constexpr std::size_t slab_limit_bytes = 65536;
inline constexpr std::size_t medium_step_bytes = 64;
inline constexpr std::uint32_t last_small_class = 257;
inline constexpr std::uint32_t class_count =
    last_small_class + 1 + (slab_limit_bytes - small_limit_bytes) / medium_step_bytes;
inline constexpr std::uint32_t max_slab_units = 32;
// The smallest page size of Linux. Carving uses it whatever the real page size is, so
// that one call never makes the links of more than one such page.
inline constexpr std::size_t carve_bytes = 4096;

// bytes <= small_limit_bytes. Branchless: the last term is -1 for 0..8 bytes,
// which moves 1..8 to class 1 and 0 to class 0; written so that the compiler
// needs a shift and no comparison.
constexpr std::size_t small_class_of(std::size_t bytes) noexcept {
  return ((bytes + 15) >> 4) + 1 + static_cast<std::size_t>(static_cast<std::ptrdiff_t>(bytes - 9) >> 63);
}

// small_limit_bytes < bytes <= slab_limit_bytes
constexpr std::uint32_t medium_class_of(std::size_t bytes) noexcept {
  return last_small_class +
         static_cast<std::uint32_t>((bytes - small_limit_bytes + medium_step_bytes - 1) / medium_step_bytes);
}

constexpr std::uint32_t class_of(std::size_t bytes) noexcept {
  return bytes <= small_limit_bytes ? static_cast<std::uint32_t>(small_class_of(bytes))
                                    : medium_class_of(bytes);
}

// malloc looks up its slab by the step: requests up to small_limit_bytes in steps of
// 8 bytes.
inline constexpr std::size_t step_bytes = 8;
inline constexpr std::size_t step_count = small_limit_bytes / step_bytes + 1;
constexpr std::size_t step_of(std::size_t bytes) noexcept { return (bytes + step_bytes - 1) / step_bytes; }

constexpr std::uint32_t block_bytes_of(std::uint32_t size_class) noexcept {
  if (size_class <= 1) return 8;
  if (size_class <= last_small_class) return 16 * (size_class - 1);
  return static_cast<std::uint32_t>(small_limit_bytes + medium_step_bytes * (size_class - last_small_class));
}

// The class that serves a rarely used one: four coarse classes per doubling up to
// 4 KiB, eight above, so that programs with many sizes do not open a slab for each.
// Sizes are rounded to a power of two, so a coarser block is aligned at least as well
// as the finer one.
constexpr std::uint32_t coarse_class_of(std::uint32_t size_class) noexcept {
  const std::uint32_t bytes = block_bytes_of(size_class);
  if (bytes <= 128) return size_class == 0 ? 1 : size_class;
  const auto bits = static_cast<std::uint32_t>(std::bit_width(bytes - 1));
  const std::uint32_t step = std::uint32_t{1} << (bits - (bytes <= small_limit_bytes ? 3 : 4));
  return class_of((bytes + step - 1) / step * step);
}

// The smallest slab with 4 blocks (8 up to 4 KiB) whose unused end wastes less than
// 1/128 in its last touched page and, for long blocks, 1/32 in all: whole pages of the
// unused end are not touched, but may be resident from before.
constexpr std::uint32_t slab_units_of(std::uint32_t size_class) noexcept {
  const std::size_t bytes = block_bytes_of(size_class);
  const bool is_long = bytes > small_limit_bytes;
  std::uint32_t units = 1;
  for (; units < max_slab_units; units += is_long ? 1 : units) {
    const std::size_t slab_bytes = units * unit_bytes;
    const std::size_t lost = slab_bytes % bytes;
    if (slab_bytes / bytes < (is_long ? 4 : 8)) continue;
    const bool is_tight = lost % carve_bytes * 128 <= slab_bytes && (!is_long || lost * 32 <= slab_bytes);
    if (is_tight || bytes <= 1024) break;
  }
  return units;
}

// The size of a class's first slab, which may remain the only one: no block is longer.
inline constexpr std::uint32_t first_slab_units = 1;
static_assert(slab_limit_bytes <= first_slab_units * unit_bytes);

struct SizeClass {
  std::uint32_t block_bytes;
  // floor(offset / block_bytes) == floor(offset / 8) * reciprocal >> 31 for
  // every offset in a slab (up to 2^21, tested).
  std::uint32_t reciprocal;
  std::uint16_t coarse;
  std::uint16_t units;
};

inline constexpr int reciprocal_shift = 31;
inline constexpr std::uint32_t reciprocal_one = std::uint32_t{1} << reciprocal_shift;

constexpr SizeClass describe_class(std::uint32_t size_class) noexcept {
  SizeClass described{};
  described.block_bytes = block_bytes_of(size_class);
  described.units = static_cast<std::uint16_t>(slab_units_of(size_class));
  described.coarse = static_cast<std::uint16_t>(coarse_class_of(size_class));
  described.reciprocal = (reciprocal_one + described.block_bytes / 8 - 1) / (described.block_bytes / 8);
  return described;
}

constexpr std::array<SizeClass, class_count> describe_classes() noexcept {
  std::array<SizeClass, class_count> classes{};
  for (std::uint32_t c = 0; c < class_count; ++c) classes[c] = describe_class(c);
  return classes;
}

inline constexpr std::array<SizeClass, class_count> size_classes = describe_classes();

constexpr std::uint32_t block_index(const SizeClass& described, std::size_t offset) noexcept {
  return static_cast<std::uint32_t>(offset / 8 * described.reciprocal >> reciprocal_shift);
}
constexpr std::uint32_t block_index(std::uint32_t size_class, std::size_t offset) noexcept {
  return block_index(size_classes[size_class], offset);
}

// For free, which must know on every call whether a block can begin at a pointer: the offset in a unit times
// this, modulo 2^32, is less than a unit exactly if block_bytes divides the offset. It is 2^32 / block_bytes
// rounded up, so a quotient q adds less than q * block_bytes to a multiple of 2^32, and any remainder adds at
// least 2^32 / block_bytes. Tested for every offset.
constexpr std::array<std::uint32_t, class_count> make_start_factors() noexcept {
  std::array<std::uint32_t, class_count> factors{};
  for (std::uint32_t c = 0; c < class_count; ++c) {
    const std::uint64_t bytes = block_bytes_of(c);
    factors[c] = static_cast<std::uint32_t>(((std::uint64_t{1} << 32) + bytes - 1) / bytes);
  }
  return factors;
}
constexpr bool is_multiple(std::uint32_t factor, std::uint16_t offset_in_unit) noexcept {
  return offset_in_unit * factor < unit_bytes;
}

constexpr std::uint32_t capacity_of(std::uint32_t size_class, std::uint32_t units) noexcept {
  return block_index(size_class, units * unit_bytes);
}

// The request size whose class has aligned blocks of `bytes`; 0: needs a large block.
constexpr std::size_t aligned_bytes(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes > slab_limit_bytes || alignment > carve_bytes) return 0;
  if (alignment <= 8) return bytes == 0 ? 1 : bytes;
  const std::size_t rounded = checked_round_up(std::max<std::size_t>(bytes, 1), alignment);
  return rounded > slab_limit_bytes ? 0 : rounded;
}

}  // namespace heapwright::heap
