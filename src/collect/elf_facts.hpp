// SPDX-License-Identifier: MIT
// Facts from an executable file that decide whether the recorder can be loaded into it. Any file may be
// given, even a malicious one.
#pragma once

#include <string>
#include <vector>

namespace heapwright::collect {

struct ElfFacts {
  bool is_elf = false;
  bool is_readable = false;  // the headers are valid
  bool is_64_bit = false;
  bool is_x86_64 = false;
  std::string interpreter;  // PT_INTERP; empty: static
  std::string sanitizer;    // "AddressSanitizer", ...; empty: none
  bool defines_malloc = false;
  bool passes_malloc_on = false;  // has heapwright's heap_budget hook: it counts and calls the next malloc
  std::string own_allocator;      // "jemalloc", ...: linked into the executable; empty: none found
};

ElfFacts inspect_elf(int file);

}  // namespace heapwright::collect
