// SPDX-License-Identifier: MIT
// Finds the objects that define own names and leads their callers to us.
//
// All of it happens in callbacks of dl_iterate_phdr, which the loader lets
// through one at a time: they need no lock among themselves.
#pragma once

namespace heapwright::record {

// Binds what was loaded since the last look. Takes the loader's lock for a
// moment: only from where the program itself is in the loader, or starts.
void bind_own_names() noexcept;

// The next dlsym in the process. Takes the loader's lock for a moment.
void* find_next_dlsym() noexcept;

}  // namespace heapwright::record
