// SPDX-License-Identifier: MIT
// Runs a DWARF call frame program (CIE, then FDE) up to one address and keeps the rules for a caller's return
// address, stack pointer and RBP (on aarch64 x29).
#pragma once

#include <cstdint>

#include "unwind/byte_cursor.hpp"

namespace heapwright::unwind {

// DWARF register numbers.
#if defined(__aarch64__)
inline constexpr std::uint64_t register_rbp = 29;
inline constexpr std::uint64_t register_rsp = 31;
inline constexpr std::uint64_t register_return_address = 30;
#else
inline constexpr std::uint64_t register_rbp = 6;
inline constexpr std::uint64_t register_rsp = 7;
inline constexpr std::uint64_t register_return_address = 16;
#endif

struct Expression {
  const std::uint8_t* bytes = nullptr;
  std::uint64_t size_bytes = 0;
};

struct SavedRegister {
  enum class Kind : std::uint8_t { unchanged, undefined, at_cfa_offset, at_expression, elsewhere };
  Kind kind = Kind::unchanged;
  std::int64_t offset = 0;
  Expression expression;
};

// One row of the unwind table.
struct FrameRow {
  bool has_cfa_expression = false;
  std::uint64_t cfa_register = 0;
  std::int64_t cfa_offset = 0;
  Expression cfa_expression;
  SavedRegister rbp;
  SavedRegister return_address;
};

struct FrameDescription {
  std::uint64_t first_pc = 0;
  std::uint64_t pc_bytes = 0;
  std::uint64_t code_alignment = 0;
  std::int64_t data_alignment = 0;
  std::uint8_t pointer_encoding = 0;
  bool is_signal_frame = false;
  ByteCursor initial_program{nullptr, nullptr};
  ByteCursor program{nullptr, nullptr};
};

// Computes the row that covers `target_pc`. False if the program is malformed or uses features that compilers
// do not emit.
bool run_call_frame_program(const FrameDescription& description, std::uint64_t target_pc,
                            FrameRow& row) noexcept;

}  // namespace heapwright::unwind
