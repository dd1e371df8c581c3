// SPDX-License-Identifier: MIT
// The libraries that the loader maps with a program, before it is started.
#pragma once

#include <string>
#include <vector>

namespace heapwright::collect {

// Their files, as far as they are found: by DT_RPATH and DT_RUNPATH, LD_LIBRARY_PATH (library_path) and the
// system's usual folders; /etc/ld.so.cache is not read. Opens each file: 50 µs each.
std::vector<std::string> needed_libraries(const std::string& program, const std::string& library_path);

// Whether the file has a symbol table besides the one for the loader: it is not stripped.
bool has_symbol_table(const std::string& path);

}  // namespace heapwright::collect
