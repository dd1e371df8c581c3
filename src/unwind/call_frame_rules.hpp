// SPDX-License-Identifier: MIT
// From a program counter to its rule: .eh_frame_hdr search, CIE and FDE,
// call frame program, then the compact form.
#pragma once

#include <cstdint>

#include "unwind/rule.hpp"

namespace heapwright::unwind {

// Memory of one loaded object; nothing outside [start, end) is read.
struct ObjectTables {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t frame_header = 0;  // PT_GNU_EH_FRAME; 0 = none
};

// `is_exact`: pc is the next instruction of an interrupted frame; otherwise
// it is a return address and the call before it decides.
Rule evaluate_rule(const ObjectTables& object, std::uint64_t pc, bool is_exact) noexcept;

}  // namespace heapwright::unwind
