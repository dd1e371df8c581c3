// SPDX-License-Identifier: MIT
#include "symbolize/symbol_table.hpp"

#include <gelf.h>

#include <algorithm>
#include <limits>

namespace heapwright::symbolize {
namespace {

// Global is preferred to weak, weak to local; a sized symbol to a label; a public name to one with leading
// underscores (malloc, __libc_malloc, __malloc).
std::uint8_t rank_of(const GElf_Sym& symbol, const char* name) {
  const auto binding = GELF_ST_BIND(symbol.st_info);
  unsigned rank = binding == STB_GLOBAL ? 2 : binding == STB_WEAK ? 1 : 0;
  if (name[0] != '_' || name[1] == 'Z' || name[1] == 'R') rank += 4;
  if (symbol.st_size > 0) rank += 8;
  return static_cast<std::uint8_t>(rank);
}

}  // namespace

SymbolTable::SymbolTable(Dwfl_Module* module) {
  const int count = dwfl_module_getsymtab(module);
  for (int i = 1; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    const char* name = dwfl_module_getsym_info(module, i, &symbol, &address, nullptr, nullptr, nullptr);
    if (name == nullptr || name[0] == '\0' || symbol.st_shndx == SHN_UNDEF) continue;
    const auto type = GELF_ST_TYPE(symbol.st_info);
    const bool is_code = type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
    if (!is_code || symbol.st_size > std::numeric_limits<std::uint64_t>::max() - address) continue;
    symbols_.push_back({address, address + symbol.st_size, name, rank_of(symbol, name)});
  }
  std::sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) {
    return a.start != b.start ? a.start < b.start : a.rank > b.rank;
  });
  const auto same_start = [](const Symbol& a, const Symbol& b) { return a.start == b.start; };
  symbols_.erase(std::unique(symbols_.begin(), symbols_.end(), same_start), symbols_.end());
}

const char* SymbolTable::name_at(std::uint64_t address) const noexcept {
  auto after =
      std::upper_bound(symbols_.begin(), symbols_.end(), address,
                       [](std::uint64_t value, const Symbol& symbol) { return value < symbol.start; });
  // A label inside a function sorts after the function that covers it; the backward search is limited because
  // nesting is shallow in real objects.
  constexpr int max_steps_back = 32;
  for (int step = 0; step < max_steps_back && after != symbols_.begin(); ++step) {
    const Symbol& symbol = *--after;
    if (address < symbol.end) return symbol.name;
    // Hand-written assembly has no sizes: the nearest preceding label is used.
    if (step == 0 && symbol.end == symbol.start && address - symbol.start < 4096) return symbol.name;
  }
  return nullptr;
}

}  // namespace heapwright::symbolize
