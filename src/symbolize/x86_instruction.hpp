// SPDX-License-Identifier: MIT
// Lengths and operands of x86-64 instructions, as far as copies of a pointer are followed through them.
#pragma once

#include <cstdint>
#include <span>

namespace heapwright::symbolize {

enum class OpcodeMap : std::uint8_t { one_byte, two_byte, three_byte, vector };

inline constexpr int no_register = -1;

// Registers are numbered as in the machine code: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
struct Instruction {
  std::uint8_t length = 0;  // 0: unknown
  OpcodeMap map = OpcodeMap::one_byte;
  std::uint8_t opcode = 0;
  bool is_wide = false;       // 64-bit operands
  bool has_operands = false;  // the next ones
  int reg = no_register;
  int rm = no_register;    // a register operand
  int base = no_register;  // of a memory operand, that has no index
  bool is_memory = false;
  std::int64_t displacement = 0;  // of a memory operand; of a branch, from its end
};

// The instruction at the begin of `code`.
Instruction decode_x86(std::span<const std::uint8_t> code) noexcept;

}  // namespace heapwright::symbolize
