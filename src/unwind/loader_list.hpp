// SPDX-License-Identifier: MIT
// The dynamic linker's list of loaded objects, for a libc without _dl_find_object: glibc before 2.35, musl.
#pragma once

#include <cstdint>

#include "unwind/call_frame_rules.hpp"

namespace heapwright::unwind {

struct LoadedObject {
  ObjectTables tables;
  const char* name = nullptr;  // from the dynamic linker; empty for the program
};

// Whether the program has one: it is not static.
bool has_loader_list() noexcept;

// Finds the object that holds a code address, by a walk over the list, of some microseconds; takes no lock,
// so that it may run inside of the program's malloc, in dlopen as well. An object that is being loaded is
// found as soon as the list has it. While another thread unloads one, nothing is found: a list that shrinks
// cannot be followed. An unloading that begins and ends within the walk itself is not noticed; it takes
// longer than the walk.
bool find_in_loader_list(std::uint64_t address, LoadedObject& object) noexcept;

}  // namespace heapwright::unwind
