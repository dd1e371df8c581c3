// SPDX-License-Identifier: MIT
// Moves a function's first instructions elsewhere, so that a jump fits where they stood.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heapwright::attach {

// e9 and a signed distance of 32 bits.
inline constexpr std::size_t jump_bytes = 5;

// An instruction's begin, counted from where the function stands and from where it stands now.
struct MovedInstruction {
  std::size_t from;
  std::size_t to;
};

struct MovedEntry {
  std::string refusal;             // empty: it can be moved
  std::vector<std::uint8_t> code;  // ends with a jump to what was left in place
  std::vector<MovedInstruction> instructions;
};

// Code: the function's bytes, all of them where its size is known, since a jump back into the first ones
// would land in the middle of ours. Refuses what it does not know how to move; never guesses.
MovedEntry move_entry(std::span<const std::uint8_t> code, std::uint64_t from, std::uint64_t to);

// The jump's five bytes at `from`. Both have to be within reach.
std::vector<std::uint8_t> make_jump(std::uint64_t from, std::uint64_t to);

// Where these bytes at `at` jump to; 0: they are no such jump.
std::uint64_t jump_target(std::span<const std::uint8_t> code, std::uint64_t at);

}  // namespace heapwright::attach
