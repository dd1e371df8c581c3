// SPDX-License-Identifier: MIT
// An allocator that is linked into the executable or a library, found by its symbol table: also one whose
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

// Those inside a shared library, which calls them directly: by that library's symbol table. file: for
// display.
std::vector<Allocator> find_allocators_in_library(const SymbolTable& table, const std::string& file,
                                                  const std::vector<Mapping>& maps);

}  // namespace heapwright::attach
