// SPDX-License-Identifier: MIT
// The work of the heap's thread: maintenance while the program sleeps.
#pragma once

namespace heapwright::heap {

// Lets the process have the thread.
void allow_maintenance_thread() noexcept;

}  // namespace heapwright::heap
