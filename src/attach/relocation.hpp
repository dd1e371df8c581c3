// SPDX-License-Identifier: MIT
// Moves a function's first instructions elsewhere, to make room for a jump.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heapwright::attach {

// e9 and a signed distance of 32 bits.
inline constexpr std::size_t jump_bytes = 5;

// The offset of an instruction in the function and in the moved code.
struct MovedInstruction {
  std::size_t from;
  std::size_t to;
};

struct MovedEntry {
  std::string refusal;             // empty: it can be moved
  std::vector<std::uint8_t> code;  // ends with a jump to the rest of the function
  std::vector<MovedInstruction> instructions;
};

// Code: the function's bytes, all of them if its size is known, because a jump back to the first ones would
// land in the middle of ours. Refuses instructions that it cannot move; never guesses.
MovedEntry move_entry(std::span<const std::uint8_t> code, std::uint64_t from, std::uint64_t to);

// The jump's five bytes at `from`. Both addresses must be within reach.
std::vector<std::uint8_t> make_jump(std::uint64_t from, std::uint64_t to);

// Where the jump of these bytes at `at` leads; 0: they are not such a jump.
std::uint64_t jump_target(std::span<const std::uint8_t> code, std::uint64_t at);

}  // namespace heapwright::attach
