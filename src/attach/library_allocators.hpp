// SPDX-License-Identifier: MIT
// The loaded libraries that have an allocator inside and call it directly.
#pragma once

#include <sys/types.h>

#include <vector>

#include "attach/entry_points.hpp"

namespace heapwright::attach {

// In the loader's order. general: whose malloc the process calls; its library is none of these. A library
// without a symbol table, or whose file is not the one that was loaded, is passed over. Reads the symbol
// tables of all libraries: some milliseconds for large ones that are not stripped.
std::vector<Allocator> find_library_allocators(pid_t process, const TargetMemory& memory,
                                               const std::vector<Module>& modules,
                                               const std::vector<Mapping>& maps, const Allocator& general);

}  // namespace heapwright::attach
