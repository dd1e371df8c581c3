// SPDX-License-Identifier: MIT
// The work that calls put off: free runs that have waited long enough go back
// to the system, pooled slabs lose their free pages, caches of threads that
// ended and heaps that were destroyed are taken apart.
//
// A thread of its own does it once the heap has grown. It is not one of
// libc's threads: it has no thread-local storage, takes no signal,
// calls nothing but the kernel, and does not keep the process alive.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapwright::heap {

// Up to `budget` pieces of work that are `least_age` ticks old; how many there were.
std::size_t maintain(std::size_t budget, std::uint16_t least_age) noexcept;

// Starts the thread unless it runs or may not.
void start_maintenance() noexcept;
// The same in the child of a fork, if there was one before; else nothing.
void restart_maintenance() noexcept;

// Whether the caller runs on that thread's stack.
bool is_maintenance_thread() noexcept;

void lock_maintenance() noexcept;
void unlock_maintenance() noexcept;
// In the child of a fork: the thread is not there.
void forget_maintenance_thread() noexcept;

}  // namespace heapwright::heap
