// SPDX-License-Identifier: MIT
// What an x86-64 instruction does to registers and memory, as far as copies of a pointer are followed through
// it. Decoded by Zydis.
#pragma once

#include <cstdint>
#include <span>

namespace heapwright::symbolize {

inline constexpr int no_register = -1;

enum class Flow : std::uint8_t {
  next,
  call,  // of the function at `displacement`
  call_elsewhere,
  jump,
  jump_if_zero,
  jump_if_not_zero,
  leaves,  // on another condition, or to a place that is not known
  returns,
};

// What it computes, of 64 bits, as far as sizes of arrays show by it.
enum class Sum : std::uint8_t {
  none,
  load,         // `result` is `constant`
  store,        // `constant` is stored to the memory that it names
  add,          // `result` is `summand` + `constant`
  shift_right,  // `result`, by `constant`
  multiply,     // rax by `summand`
};

// Registers are numbered as in the machine code: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
struct Instruction {
  std::uint8_t length = 0;  // 0: unknown
  Flow flow = Flow::next;
  std::int64_t branch = 0;  // from its end
  // A move of 64 bits: each is a register, or the memory below.
  bool is_move = false;
  int from = no_register;
  int to = no_register;
  int tested = no_register;   // compared with 0, all 64 bits
  std::uint32_t written = 0;  // registers, also in part: a bit each
  Sum sum = Sum::none;
  int result = no_register;
  int summand = no_register;
  std::int64_t constant = 0;
  // Memory that it names.
  int base = no_register;  // without an index, in the usual segment
  std::int64_t displacement = 0;
  std::int64_t stored_bytes = 0;  // to it; 0: none
  bool stores_elsewhere = false;  // to memory that it does not name, pushes aside
};

// The instruction at the begin of `code`.
Instruction decode_x86(std::span<const std::uint8_t> code) noexcept;

}  // namespace heapwright::symbolize
