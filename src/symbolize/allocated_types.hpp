// SPDX-License-Identifier: MIT
// What a call allocates: the type whose constructor gets the block, or of the variable that does, by DWARF
// and the instructions behind the call (docs/decisions/0056-types-of-new.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "symbolize/symbols.hpp"

namespace heapwright::symbolize {

// Of the calls that return to these addresses in the object's file, which are calls of an allocator; empty:
// not known. `object` is filled in as by open_object(). Other processors than x86-64: none.
std::vector<std::string> allocated_types(Object& object, std::span<const std::uint64_t> addresses,
                                         const Options& options);

}  // namespace heapwright::symbolize
