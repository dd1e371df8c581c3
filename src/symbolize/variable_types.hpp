// SPDX-License-Identifier: MIT
// The types of an object's variables by its DWARF, as in the source.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "symbolize/symbols.hpp"

namespace heapwright::symbolize {

// Of each of these variables, whose names are demangled; empty: not known, or several of the name differ.
// `object` is filled in as by open_object(). Reads the begin of each compilation unit, and all of it if there
// are variables within functions.
std::vector<std::string> variable_types(Object& object, std::span<const std::string> names,
                                        const Options& options);

}  // namespace heapwright::symbolize
