// SPDX-License-Identifier: MIT
#include "symbolize/variable_types.hpp"

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "symbolize/demangle.hpp"
#include "symbolize/object_file.hpp"
#include "symbolize/type_names.hpp"

namespace heapwright::symbolize {
namespace {

// As snapshots name variables (src/collect/demangled.hpp).
std::string without_tag(std::string name) {
  constexpr std::string_view tag = "[abi:cxx11]";
  const std::size_t place = name.find(tag);
  if (place != std::string::npos) name.erase(place, tag.size());
  return name;
}

// Symbols of variables within functions: "cache.0", "find(int)::cache". Others may have the same name.
bool is_local(const std::string& name) { return name.find_first_of(".)") != std::string::npos; }

// Where the symbols of these names are, as addresses in the file; by address.
std::unordered_map<Dwarf_Addr, std::string> addresses_of(Dwfl_Module* module, Dwarf_Addr bias,
                                                         const std::unordered_set<std::string>& names) {
  std::unordered_map<Dwarf_Addr, std::string> found;
  const int symbols = names.empty() ? 0 : dwfl_module_getsymtab(module);
  for (int index = 0; index < symbols; ++index) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    const char* const name =
        dwfl_module_getsym_info(module, index, &symbol, &address, nullptr, nullptr, nullptr);
    if (name == nullptr || GELF_ST_TYPE(symbol.st_info) != STT_OBJECT) continue;
    const bool is_mangled = std::string_view(name).starts_with("_ZZ");
    std::string text = is_mangled ? without_tag(demangle(name)) : name;
    if (names.contains(text)) found.try_emplace(address - bias, std::move(text));
  }
  return found;
}

// Of a variable that is always at the same place; 0: of another.
Dwarf_Addr address_of(Dwarf_Die& variable) {
  Dwarf_Attribute attribute;
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (dwarf_attr(&variable, DW_AT_location, &attribute) == nullptr) return 0;
  if (dwarf_getlocation(&attribute, &operations, &count) != 0 || count != 1) return 0;
  if (operations[0].atom == DW_OP_addr) return operations[0].number;
  Dwarf_Attribute by_index;
  Dwarf_Addr address = 0;
  const bool is_found = operations[0].atom == DW_OP_addrx &&
                        dwarf_getlocation_attr(&attribute, &operations[0], &by_index) == 0 &&
                        dwarf_formaddr(&by_index, &address) == 0;
  return is_found ? address : 0;
}

class VariableTypes {
 public:
  explicit VariableTypes(std::span<const std::string> names) {
    for (const std::string& name : names) {
      types_.try_emplace(name);
      if (is_local(name)) locals_.insert(name);
    }
  }

  void read(Dwfl_Module* module, Dwarf* dwarf, Dwarf_Addr bias) {
    local_at_ = addresses_of(module, bias, locals_);
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    Dwarf_Half version = 0;
    std::uint8_t kind = 0;
    while (dwarf_get_units(dwarf, unit, &unit, &version, &kind, &die, nullptr) == 0) {
      read_scope(die, "", most_type_layers);
    }
  }

  std::string of(const std::string& name) const {
    const Type& found = types_.at(name);
    return found.is_ambiguous ? std::string() : found.text;
  }

 private:
  struct Type {
    std::string text;
    bool is_ambiguous = false;
  };

  void read_scope(Dwarf_Die& scope, const std::string& prefix, int layers) {
    Dwarf_Die die;
    if (layers == 0 || dwarf_child(&scope, &die) != 0) return;
    do {
      const int tag = dwarf_tag(&die);
      if (tag == DW_TAG_variable) note(die, name_of(die, prefix));
      if (tag == DW_TAG_namespace) read_scope(die, prefix + own_name(die) + "::", layers - 1);
      const bool has_functions = tag == DW_TAG_subprogram || is_class(die);
      if (has_functions && !local_at_.empty()) read_locals(die, most_type_layers);
    } while (dwarf_siblingof(&die, &die) == 0);
  }

  // A function's variables, in its blocks as well; of a class, its functions'.
  void read_locals(Dwarf_Die& scope, int layers) {
    Dwarf_Die die;
    if (layers == 0 || dwarf_child(&scope, &die) != 0) return;
    do {
      const int tag = dwarf_tag(&die);
      if (tag == DW_TAG_variable) note_local(die);
      const bool has_more = tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine ||
                            tag == DW_TAG_subprogram || is_class(die);
      if (has_more) read_locals(die, layers - 1);
    } while (dwarf_siblingof(&die, &die) == 0);
  }

  void note_local(Dwarf_Die& variable) {
    const auto found = local_at_.find(address_of(variable));
    if (found != local_at_.end()) note(variable, found->second);
  }

  void note(Dwarf_Die& variable, const std::string& name) {
    if (dwarf_hasattr(&variable, DW_AT_declaration) != 0) return;
    const auto found = types_.find(name);
    Dwarf_Die type;
    if (found == types_.end() || !type_of(variable, type)) return;
    std::string text = type_name(type, most_type_layers);
    if (found->second.text.empty()) {
      found->second.text = std::move(text);
    } else if (found->second.text != text) {
      found->second.is_ambiguous = true;
    }
  }

  // As its symbol is demangled.
  static std::string name_of(Dwarf_Die& variable, const std::string& prefix) {
    Dwarf_Attribute attribute;
    const char* const symbol =
        dwarf_formstring(dwarf_attr_integrate(&variable, DW_AT_linkage_name, &attribute));
    if (symbol != nullptr) return without_tag(demangle(symbol));
    Dwarf_Die declared;
    if (dwarf_attr(&variable, DW_AT_specification, &attribute) != nullptr &&
        dwarf_formref_die(&attribute, &declared) != nullptr) {
      return qualified_name(declared);
    }
    const char* const name = dwarf_diename(&variable);
    return name == nullptr ? std::string() : prefix + name;
  }

  std::unordered_map<std::string, Type> types_;
  std::unordered_set<std::string> locals_;
  std::unordered_map<Dwarf_Addr, std::string> local_at_;
};

}  // namespace

std::vector<std::string> variable_types(Object& object, std::span<const std::string> names,
                                        const Options& options) {
  VariableTypes types(names);
  const ObjectFile file = open_object(object, options);
  Dwarf_Addr bias = 0;
  Dwarf* const dwarf = file ? dwfl_module_getdwarf(file.module, &bias) : nullptr;
  if (dwarf != nullptr) types.read(file.module, dwarf, bias);
  std::vector<std::string> found;
  for (const std::string& name : names) found.push_back(types.of(name));
  return found;
}

}  // namespace heapwright::symbolize
