// SPDX-License-Identifier: MIT
// The shared table of positions in Python code: their functions, files and lines.
#pragma once

#include <cstdint>

#include "unwind/interpreter.hpp"
#include "unwind/stack_bounds.hpp"

namespace heapwright::unwind {

inline constexpr std::uint32_t no_python_position = ~0U;

// The frame number (session/layout.hpp) of an instruction of a code object, which a frame of the calling
// thread holds. no_python_position: it is not a code object as it should be, or the table is full.
//
// A code object may be freed and another be put at its address: what is looked up is a hash of its address
// and of what it consists of.
std::uint32_t find_python_position(const Interpreter& interpreter, std::uint64_t code,
                                   std::uint64_t instruction) noexcept;

// Of a live code object: tells it from one that was at its address before, as far as what it points to does.
inline std::uint64_t python_stamp(const python::Layout& layout, std::uint64_t code) {
  return load_word(code + layout.code_line_table) * 0xe7037ed1a0b428dbULL +
         load_word(code + layout.code_name) * 0xa0761d6478bd642fULL +
         load_word(code + layout.code_consts) * 0xff51afd7ed558ccdULL;
}

// By a code object's table of lines (Objects/locations.md of CPython 3.11 and later); 0: it has none.
// `unit`: the instruction's number; -1: before the first.
std::uint32_t line_of_unit(const std::uint8_t* table, std::uint64_t bytes, std::uint32_t first_line,
                           std::int64_t unit) noexcept;
// The same of older tables (Objects/lnotab_notes.txt of CPython 3.9 and 3.10), by the instruction's offset.
std::uint32_t line_by_ranges(const std::uint8_t* table, std::uint64_t bytes, std::uint32_t first_line,
                             std::int64_t offset) noexcept;
std::uint32_t line_by_steps(const std::uint8_t* table, std::uint64_t bytes, std::uint32_t first_line,
                            std::int64_t offset) noexcept;

// Writes a str as UTF-8, cut to `room` with its end or its beginning kept; false: not a text as it should be.
bool copy_python_text(const Interpreter& interpreter, std::uint64_t text, char* to, std::uint32_t room,
                      bool keeps_end) noexcept;

}  // namespace heapwright::unwind
