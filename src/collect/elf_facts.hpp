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
  bool is_of_own_processor = false;
  std::string interpreter = {};  // PT_INTERP; empty: static
  std::string sanitizer = {};    // "AddressSanitizer", ...; empty: none
  bool is_stripped = true;       // it has no symbol table but the loader's
  bool defines_malloc = false;
  bool hides_malloc = false;        // has one that no other file can call
  bool imports_malloc = false;      // or another function that makes blocks
  bool imports_operators = false;   // new
  bool imports_libcs_own = false;   // __libc_malloc or one like it, which no other library can replace
  bool has_rust_allocator = false;  // functions that every Rust program has
  bool passes_malloc_on = false;    // has heapwright's heap_budget hook: it counts and calls the next malloc
  std::string own_allocator =
      {};                    // "jemalloc", ...: linked into the file, or the file itself; empty: none found
  std::string runtime = {};  // "Python", ...: keeps blocks of its own inside; empty: none found
  std::string library_name = {};  // DT_SONAME

  // glibc's loader, which is run as a program and then loads the one that it is given.
  bool is_loader() const { return interpreter.empty() && library_name.starts_with("ld-linux"); }
};

ElfFacts inspect_elf(int file);

}  // namespace heapwright::collect
