// SPDX-License-Identifier: MIT
// What the heap's own thread does: looks after memory while the program sleeps.
#pragma once

namespace heapwright::heap {

// Lets the process have the thread.
void allow_maintenance_thread() noexcept;

}  // namespace heapwright::heap
