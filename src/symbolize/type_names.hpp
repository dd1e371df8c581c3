// SPDX-License-Identifier: MIT
// Types in DWARF, as the source writes them.
#pragma once

#include <elfutils/libdw.h>

#include <string>

namespace heapwright::symbolize {

inline constexpr int most_type_layers = 16;  // pointers to pointers; more is damage

bool is_class(const Dwarf_Die& die);
// An entry's type; false: it has none, or void.
bool type_of(Dwarf_Die& die, Dwarf_Die& type);
// Without its scopes; empty: it has none.
std::string own_name(Dwarf_Die& die);
// With its namespaces and classes; empty: it has no name.
std::string qualified_name(Dwarf_Die& die);
// Empty: not known.
std::string type_name(Dwarf_Die& type, int layers = most_type_layers);

}  // namespace heapwright::symbolize
