// SPDX-License-Identifier: MIT
#include "symbolize/folded_constructors.hpp"

#include <gelf.h>

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "symbolize/demangle.hpp"

namespace heapwright::symbolize {
namespace {

// The mangled name of the class whose constructor this is; empty: of another function.
std::string_view mangled_class(std::string_view symbol) {
  const std::size_t complete = symbol.find("C1E");
  const std::size_t end = complete == std::string_view::npos ? symbol.find("C2E") : complete;
  return end == std::string_view::npos || !symbol.starts_with("_Z") ? std::string_view()
                                                                    : symbol.substr(0, end);
}

// "Row" of "app::Row<int>::Row(long)".
std::string constructor_name(const std::string& symbol) {
  const std::string text = demangle(symbol);
  const std::string whole = text.substr(0, text.find('('));
  const std::size_t scope = whole.rfind("::");
  return scope == std::string::npos ? whole : whole.substr(scope + 2);
}

}  // namespace

FoldedConstructors::FoldedConstructors(Dwfl_Module* module) {
  std::unordered_map<std::uint64_t, std::string> first_at;
  const int symbols = dwfl_module_getsymtab(module);
  for (int index = 0; index < symbols; ++index) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    const char* const name =
        dwfl_module_getsym_info(module, index, &symbol, &address, nullptr, nullptr, nullptr);
    if (name == nullptr || GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
    const std::string_view of_class = mangled_class(name);
    if (of_class.empty()) continue;
    const auto [first, is_new] = first_at.try_emplace(address, name);
    if (is_new || mangled_class(first->second) == of_class) continue;
    classes_.insert(constructor_name(first->second));
    classes_.insert(constructor_name(name));
  }
}

}  // namespace heapwright::symbolize
