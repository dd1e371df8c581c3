// SPDX-License-Identifier: MIT
// A thread that returns memory to the kernel while the program sleeps. It is not one
// of libc's: it uses only system calls, takes no signal, has no capabilities, and does
// not keep the process alive. It sleeps until memory waits to be returned, and ends
// when none has for a while.
//
// It is confined (confinement.hpp), so a process with special rights may have it too. It ends before the
// process changes its credentials, and comes back with the new ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/base/waiting.hpp"

namespace heapwright::heap {

// The thread's work. It finds `variable` in a thread-local variable at this offset
// from its thread pointer.
struct ThreadWork {
  void (*run)() noexcept;
  std::ptrdiff_t variable_offset;
  void* variable;
  bool may_be_unconfined;  // otherwise it ends where the kernel refuses that
};
// In a process that may have the thread, before any call that may start it.
void set_thread_work(const ThreadWork& of_thread) noexcept;

// For the thread's work: incremented by each ring, and at the thread's end.
std::uint32_t thread_bell() noexcept;
// Sleeps until the bell differs from `seen`.
void sleep_until_rung(std::uint32_t seen, std::uint64_t most_ns) noexcept;
bool is_thread_to_end() noexcept;
// False if the thread must go on: memory has come to wait, or its start is under way.
bool leave_thread() noexcept;

// Starts the thread unless it runs or is forbidden.
void start_maintenance() noexcept;
// Start it again: in a forked child whose parent had it, or after it ended because no
// memory waited. False: there is no thread.
void restart_maintenance() noexcept;
bool restart_idle_thread() noexcept;

// Called before memory that will wait is stamped; rings if no memory waited before.
// Not under a lock of the heap.
void announce_waiting_memory() noexcept;
inline void note_waiting_memory() noexcept {
  if (waiting.is_there.load(std::memory_order_relaxed) == 0) [[unlikely]] {
    announce_waiting_memory();
  }
}

// Whether the thread runs or is starting.
bool is_maintenance_thread_there() noexcept;
// Ends it for good and waits until it is gone.
void forbid_maintenance_thread() noexcept;
// Before and after the process changes its credentials: ends it and waits until it is gone; lets it come
// back, at once if memory waits.
void begin_change() noexcept;
void end_change() noexcept;

// Whether the caller is that thread.
bool is_maintenance_thread() noexcept;

// In a forked child, which does not have the thread.
void forget_maintenance_thread() noexcept;

}  // namespace heapwright::heap
