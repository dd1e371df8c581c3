// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace heapwright::symbolize {

// The readable form of a linker symbol (C++, Rust's legacy scheme); the symbol itself if it is not mangled.
// Compiler clones (".part.0", ".cold") get the name of the function they were split from.
std::string demangle(const std::string& symbol);

}  // namespace heapwright::symbolize
