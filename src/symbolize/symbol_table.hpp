// SPDX-License-Identifier: MIT
// The functions of an ELF object, sorted by address. libdwfl's own lookup scans all symbols for each address;
// this one is a binary search.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "symbolize/object_file.hpp"

namespace heapwright::symbolize {

class SymbolTable {
 public:
  // Reads .symtab (of the object, its debug file, or .gnu_debugdata) and
  // .dynsym. `module` must outlive the table.
  explicit SymbolTable(Dwfl_Module* module);

  // The linker name of the function that covers a libdwfl address; nullptr if there is none.
  const char* name_at(std::uint64_t address) const noexcept;
  bool is_empty() const noexcept { return symbols_.empty(); }

 private:
  struct Symbol {
    std::uint64_t start;
    std::uint64_t end;  // equals start if the size is unknown
    const char* name;
    std::uint8_t rank;  // the alias with the highest rank at an address is shown
  };
  std::vector<Symbol> symbols_;
};

}  // namespace heapwright::symbolize
