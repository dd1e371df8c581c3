// SPDX-License-Identifier: MIT
// Finds the file from which a trace's object was loaded, and opens it.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <memory>
#include <string>

#include "symbolize/symbols.hpp"

namespace heapwright::symbolize {

struct DwflDeleter {
  void operator()(Dwfl* dwfl) const noexcept { dwfl_end(dwfl); }
};

// One ELF object as libdwfl sees it. Addresses passed to libdwfl are file addresses (as in the ELF headers)
// plus `bias`.
struct ObjectFile {
  std::unique_ptr<char[]> debug_path;  // libdwfl keeps a pointer to this pointer
  std::unique_ptr<char*> debug_path_slot;
  std::unique_ptr<Dwfl_Callbacks> callbacks;
  std::unique_ptr<Dwfl, DwflDeleter> dwfl;
  Dwfl_Module* module = nullptr;
  std::uint64_t bias = 0;

  explicit operator bool() const noexcept { return module != nullptr; }
};

// Opens the first candidate with the recorded build id. Fills in object.used_file, or object.problem if there
// is none.
ObjectFile open_object(Object& object, const Options& options);

// Whether the object, or its separate debug file, has DWARF. Reads only section headers. False for a debug
// file next to an object that has its own symbol table.
bool has_debug_info(const ObjectFile& file);

}  // namespace heapwright::symbolize
