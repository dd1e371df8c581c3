// SPDX-License-Identifier: MIT
// The counters page: sums over the caches, and its place in shared memory.
#pragma once

namespace heapwright::heap {

// Fills in what only readers need. Where HEAPWRIGHT_HEAP_COUNTERS=1, moves the
// page to a file "heapwright-PID" in /dev/shm, or "heapwright-PID.1" and so on.
void open_counters() noexcept;
// Brings the sums over all caches up to date. One caller at a time.
void publish_counters() noexcept;
// In the child of a fork: a page of its own.
void reopen_counters() noexcept;
// At exit: the file goes.
void close_counters() noexcept;

}  // namespace heapwright::heap
