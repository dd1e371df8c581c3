// SPDX-License-Identifier: MIT
#include "symbolize/type_names.hpp"

#include <dwarf.h>

#include <cstdlib>

namespace heapwright::symbolize {
namespace {

bool is_named_scope(const Dwarf_Die& die) {
  return dwarf_tag(const_cast<Dwarf_Die*>(&die)) == DW_TAG_namespace || is_class(die);
}

std::string inner_name(Dwarf_Die& type, int layers) {
  Dwarf_Die inner;
  return type_of(type, inner) ? type_name(inner, layers - 1) : "void";
}

}  // namespace

bool is_class(const Dwarf_Die& die) {
  const int tag = dwarf_tag(const_cast<Dwarf_Die*>(&die));
  return tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

std::string own_name(Dwarf_Die& die) {
  const char* const name = dwarf_diename(&die);
  if (name != nullptr) return name;
  return dwarf_tag(&die) == DW_TAG_namespace ? "(anonymous namespace)" : "";
}

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

}  // namespace heapwright::symbolize
