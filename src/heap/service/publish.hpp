// SPDX-License-Identifier: MIT
// The counters page: sums over the caches, and its file in shared memory.
#pragma once

namespace heapwright::heap {

// Fills in the fields that only readers need. With HEAPWRIGHT_HEAP_COUNTERS=1, moves the
// page to a file "heapwright-PID" in /dev/shm, or "heapwright-PID.1" and so on.
void open_counters() noexcept;
// Updates the sums over all caches. Not thread-safe.
void publish_counters() noexcept;
// In a forked child: gives it its own page.
void reopen_counters() noexcept;
// At exit: removes the file, and prints what was held if HEAPWRIGHT_HEAP_COUNTERS=print asks for it.
void close_counters() noexcept;

}  // namespace heapwright::heap
