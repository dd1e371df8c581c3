// SPDX-License-Identifier: MIT
// The work that calls put off: free runs that have waited long enough go back
// to the system, pooled slabs lose their free pages, caches of threads that
// ended and heaps that were destroyed are taken apart.
//
// A thread of its own does it once the heap has grown past a few MiB. It is
// not one of libc's threads: it has no thread-local storage, takes no signal,
// calls nothing but the kernel, and does not keep the process alive.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapwright::heap {

// 1/16 s; wraps around.
std::uint16_t maintenance_tick() noexcept;

// Up to `budget` pieces of work that are `least_age` ticks old; how many there were.
std::size_t maintain(std::size_t budget, std::uint16_t least_age) noexcept;

// Starts the thread unless it runs, may not, or the heap is small.
void want_maintenance(std::size_t heap_bytes) noexcept;

// Whether the caller runs on that thread's stack.
bool is_maintenance_thread() noexcept;

void lock_maintenance() noexcept;
void unlock_maintenance() noexcept;
// In the child of a fork: there is no thread yet.
void forget_maintenance_thread() noexcept;

}  // namespace heapwright::heap
