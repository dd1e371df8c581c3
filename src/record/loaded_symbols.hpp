// SPDX-License-Identifier: MIT
// The dynamic symbols and relocations of a loaded object, as the loader sees them.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace heapwright::record {

struct LoadedSymbols {
  std::uintptr_t base = 0;
  std::uintptr_t start = 0;  // lowest address of its segments
  std::uintptr_t end = 0;
  const Elf64_Sym* symbols = nullptr;
  const char* strings = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
  const std::uint32_t* old_hash = nullptr;
  std::span<const Elf64_Rela> relocations;
  std::span<const Elf64_Rela> linkage_relocations;

  // Reads what the loader has mapped; empty for an object without dynamic symbols.
  explicit LoadedSymbols(const dl_phdr_info& object) noexcept;

  // A function or a variable defined by the object; nullptr: none.
  const Elf64_Sym* find_function(const char* name) const noexcept { return find(name, STT_FUNC); }
  const Elf64_Sym* find_variable(const char* name) const noexcept { return find(name, STT_OBJECT); }
  void* address_of(const Elf64_Sym& symbol) const noexcept {
    return reinterpret_cast<void*>(base + symbol.st_value);
  }

 private:
  const Elf64_Sym* find(const char* name, unsigned type) const noexcept;
};

// A function of a libstdc++ that stays until the process ends: the loader keeps it for its unique symbols.
// nullptr: none is loaded. Takes the loader's lock briefly; what the loader knows stays as it is.
void* find_in_libstdcxx(const char* function) noexcept;

}  // namespace heapwright::record
