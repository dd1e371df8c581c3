// SPDX-License-Identifier: MIT
// Computes the rule for a program counter: .eh_frame_hdr search, CIE and FDE, call frame program, then the
// compact form.
#pragma once

#include <elf.h>

#include <cstdint>

#include "unwind/rule.hpp"

namespace heapwright::unwind {

// Memory of one loaded object; reads never leave its segments.
struct ObjectTables {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t frame_header = 0;      // PT_GNU_EH_FRAME; 0 = none
  std::uint64_t frame_header_end = 0;  // where it lies outside of the object; 0: in it
  std::uint64_t bias = 0;
  // Its program headers; nullptr: all of [start, end) is mapped.
  const Elf64_Phdr* headers = nullptr;
  std::uint32_t header_count = 0;
};

// The end of the segment that holds `address`; `address` itself if none does.
std::uint64_t segment_end(const ObjectTables& object, std::uint64_t address) noexcept;

// Whether the tables describe the code at `pc`.
bool is_described(const ObjectTables& object, std::uint64_t pc) noexcept;

// `is_exact`: pc is the next instruction of an interrupted frame; otherwise it is a return address, and the
// rule is that of the call before it.
Rule evaluate_rule(const ObjectTables& object, std::uint64_t pc, bool is_exact) noexcept;

}  // namespace heapwright::unwind
