// SPDX-License-Identifier: MIT
// An allocator that is linked into the executable, found by the executable's symbol table: also one whose
// functions have a prefix or are not exported, and that of a static program.
#pragma once

#include <optional>
#include <vector>

#include "attach/entry_points.hpp"
#include "attach/symbol_table.hpp"

namespace heapwright::attach {

struct InnerAllocator {
  Allocator allocator;
  std::string unseen;  // the calls of another allocator in the process; empty: there is none
};

// Nothing: the table names none. modules: empty for a static program.
std::optional<InnerAllocator> find_inner_allocator(const TargetMemory& memory, const SymbolTable& table,
                                                   const std::vector<Module>& modules,
                                                   const std::vector<Mapping>& maps);

}  // namespace heapwright::attach
