// SPDX-License-Identifier: MIT
// Computes the rule for a program counter: .eh_frame_hdr search, CIE and FDE, call frame program, then the
// compact form.
#pragma once

#include <cstdint>

#include "unwind/rule.hpp"

namespace heapwright::unwind {

// Memory of one loaded object; reads never leave [start, end).
struct ObjectTables {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t frame_header = 0;  // PT_GNU_EH_FRAME; 0 = none
};

// `is_exact`: pc is the next instruction of an interrupted frame; otherwise it is a return address, and the
// rule is that of the call before it.
Rule evaluate_rule(const ObjectTables& object, std::uint64_t pc, bool is_exact) noexcept;

}  // namespace heapwright::unwind
