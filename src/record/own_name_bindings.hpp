// SPDX-License-Identifier: MIT
// Finds the objects that define own names and redirects their callers to us.
//
// All of this happens in callbacks of dl_iterate_phdr, which the loader serializes: they need no lock among
// themselves.
#pragma once

namespace heapwright::record {

// Binds what was loaded since the last look, and finds a CPython (record/python.hpp). Takes the loader's lock
// briefly: call only while the program itself is in the loader, or starts.
void bind_own_names() noexcept;

// The next dlsym in the process. Takes the loader's lock briefly.
void* find_next_dlsym() noexcept;

}  // namespace heapwright::record
