// SPDX-License-Identifier: MIT
// Where the loader of a process tells debuggers what it does.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace heapwright::collect {

// Addresses in the process. 0: the loader does not say.
struct LoaderPlaces {
  std::uint64_t debugger_call = 0;  // a function that it calls when it begins to load objects, and is done
  std::uint64_t state = 0;          // r_debug::r_state: which of these it is
};

// base: where the loader begins in the process (AT_BASE); 0: there is none. Reads the loader's file.
LoaderPlaces find_loader_places(pid_t process, std::uint64_t base);

}  // namespace heapwright::collect
