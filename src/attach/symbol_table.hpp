// SPDX-License-Identifier: MIT
// The functions that an executable's own symbol table names, exported or not. `strip` removes that table.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

#include "attach/modules.hpp"

namespace heapwright::attach {

using SymbolTable = std::map<std::string, Symbol>;

// Of the program that the process runs; `entry`: where it begins in memory. Empty: stripped, or unreadable.
SymbolTable read_symbol_table(pid_t process, std::uint64_t entry);

}  // namespace heapwright::attach
