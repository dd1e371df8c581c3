// SPDX-License-Identifier: MIT
#include "symbolize/variable_types.hpp"

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <cstdlib>
#include <string_view>
#include <unordered_map>

#include "symbolize/demangle.hpp"
#include "symbolize/object_file.hpp"

namespace heapwright::symbolize {
namespace {

constexpr int most_layers = 16;  // pointers to pointers; more is damage

bool is_named_scope(const Dwarf_Die& die) {
  switch (dwarf_tag(const_cast<Dwarf_Die*>(&die))) {
    case DW_TAG_namespace:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
      return true;
    default:
      return false;
  }
}

std::string own_name(Dwarf_Die& die) {
  const char* const name = dwarf_diename(&die);
  if (name != nullptr) return name;
  return dwarf_tag(&die) == DW_TAG_namespace ? "(anonymous namespace)" : "";
}

// With its namespaces and classes; empty if it has no name.
std::string qualified_name(Dwarf_Die& die) {
  std::string name = own_name(die);
  if (name.empty()) return name;
  Dwarf_Die* scopes = nullptr;
  const int count = dwarf_getscopes_die(&die, &scopes);
  for (int scope = 1; scope < count; ++scope) {
    if (is_named_scope(scopes[scope])) name = own_name(scopes[scope]) + "::" + name;
  }
  std::free(scopes);
  return name;
}

bool type_of(Dwarf_Die& die, Dwarf_Die& type) {
  Dwarf_Attribute attribute;
  return dwarf_attr_integrate(&die, DW_AT_type, &attribute) != nullptr &&
         dwarf_formref_die(&attribute, &type) != nullptr;
}

std::string type_name(Dwarf_Die& type, int layers);

std::string inner_name(Dwarf_Die& type, int layers) {
  Dwarf_Die inner;
  return type_of(type, inner) ? type_name(inner, layers - 1) : "void";
}

// Empty: not known.
std::string type_name(Dwarf_Die& type, int layers) {
  if (layers == 0) return {};
  const auto inner_with = [&](const char* behind) {
    const std::string inner = inner_name(type, layers);
    return inner.empty() ? inner : inner + behind;
  };
  switch (dwarf_tag(&type)) {
    case DW_TAG_pointer_type:
      return inner_with("*");
    case DW_TAG_reference_type:
      return inner_with("&");
    case DW_TAG_array_type:
      return inner_with("[]");
    case DW_TAG_const_type:
    case DW_TAG_volatile_type:
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type:
      return inner_with("");
    case DW_TAG_subroutine_type:
      return "function";
    default:
      return qualified_name(type);
  }
}

// As snapshots name variables (src/collect/demangled.hpp).
std::string without_tag(std::string name) {
  constexpr std::string_view tag = "[abi:cxx11]";
  const std::size_t place = name.find(tag);
  if (place != std::string::npos) name.erase(place, tag.size());
  return name;
}

class VariableTypes {
 public:
  explicit VariableTypes(std::span<const std::string> names) {
    for (const std::string& name : names) types_.try_emplace(name);
  }

  void read(Dwarf* dwarf) {
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    Dwarf_Half version = 0;
    std::uint8_t kind = 0;
    while (dwarf_get_units(dwarf, unit, &unit, &version, &kind, &die, nullptr) == 0) {
      read_scope(die, "", most_layers);
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
      if (tag == DW_TAG_variable) note(die, prefix);
      if (tag == DW_TAG_namespace) read_scope(die, prefix + own_name(die) + "::", layers - 1);
    } while (dwarf_siblingof(&die, &die) == 0);
  }

  void note(Dwarf_Die& variable, const std::string& prefix) {
    if (dwarf_hasattr(&variable, DW_AT_declaration) != 0) return;
    const auto found = types_.find(name_of(variable, prefix));
    Dwarf_Die type;
    if (found == types_.end() || !type_of(variable, type)) return;
    std::string text = type_name(type, most_layers);
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
};

}  // namespace

std::vector<std::string> variable_types(Object& object, std::span<const std::string> names,
                                        const Options& options) {
  VariableTypes types(names);
  const ObjectFile file = open_object(object, options);
  Dwarf_Addr bias = 0;
  Dwarf* const dwarf = file ? dwfl_module_getdwarf(file.module, &bias) : nullptr;
  if (dwarf != nullptr) types.read(dwarf);
  std::vector<std::string> found;
  for (const std::string& name : names) found.push_back(types.of(name));
  return found;
}

}  // namespace heapwright::symbolize
