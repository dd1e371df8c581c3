// SPDX-License-Identifier: MIT
// What the file of an executable or a library tells of its inside: the functions with names like an
// allocator's in its own symbol table, exported or not, and its sections. `strip` removes that table.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

#include "attach/modules.hpp"

namespace heapwright::attach {

using SymbolTable = std::map<std::string, Symbol>;

// Of the program that the process runs; `entry`: where it begins in memory. Empty: stripped, or unreadable;
// any other has at least one function.
SymbolTable read_symbol_table(pid_t process, std::uint64_t entry);
// The same of a library's file. bias: what the loader has added to its addresses.
SymbolTable read_library_table(const std::string& path, std::uint64_t bias);

// Where a section of that program lies in its memory; 0 bytes: it has none of this name.
struct SectionPlace {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};
SectionPlace find_section(pid_t process, std::uint64_t entry, const std::string& name);

}  // namespace heapwright::attach
