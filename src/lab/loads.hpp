// SPDX-License-Identifier: MIT
// The requests of the experiments: sizes and orders, which depend only on the random generator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lab/random.hpp"

namespace heapwright::lab {

// Starts at 100 bytes and doubles with this probability, up to 1 MiB.
std::uint64_t doubling_size(Random& random, double doubling_probability) noexcept;

// The fragmenting load's sizes; each has as many slots as needed for `class_bytes`, at least one.
constexpr std::array<std::uint32_t, 9> fragmenting_sizes = {169,   251,   577,    1009,  4127,
                                                            19139, 49069, 499033, 999113};
std::size_t fragmenting_slot_count(std::uint64_t class_bytes) noexcept;
// Fills `sizes` (fragmenting_slot_count of them) in random order.
void fill_fragmenting_sizes(std::uint32_t* sizes, std::uint64_t class_bytes, Random& random) noexcept;

// Sizes of a program's everyday blocks: 16 bytes to 16 KiB, each power of two
// half as likely as the one below it.
std::uint64_t mixed_size(Random& random) noexcept;

// 80 % below 256 bytes (uniform from 16), the rest up to 64 KiB with equal probability for each doubling.
std::uint64_t retained_size(Random& random) noexcept;

// Number of elements in a pooled object's vector: mean 1.5, at most 100, large ones rare (none with
// probability 0.527, else k with weight 1 / k^2).
class CreepingCount {
 public:
  static constexpr std::uint32_t max_count = 100;

  CreepingCount() noexcept;
  std::uint32_t draw(Random& random) const noexcept;

 private:
  std::array<double, max_count + 1> at_most_;
};

// Elements of a small vector: half are empty, 49 % hold one, 1 % two to eight.
std::uint32_t small_vector_count(Random& random) noexcept;

}  // namespace heapwright::lab
