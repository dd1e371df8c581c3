// SPDX-License-Identifier: MIT
// What an executable file says about itself, as far as it decides whether
// the recorder can be loaded into it. Any file may be given, hostile ones too.
#pragma once

#include <string>
#include <vector>

namespace heapwright::collect {

struct ElfFacts {
  bool is_elf = false;
  bool is_readable = false;  // the headers make sense
  bool is_64_bit = false;
  bool is_x86_64 = false;
  std::string interpreter;  // PT_INTERP; empty: static
  std::string sanitizer;    // "AddressSanitizer", ...; empty: none
  bool defines_malloc = false;
  bool passes_malloc_on = false;  // it is heap_budget's: it counts, and calls the next one
  std::string own_allocator;      // "jemalloc", ...: linked into the executable; empty: none seen
};

ElfFacts inspect_elf(int file);

}  // namespace heapwright::collect
