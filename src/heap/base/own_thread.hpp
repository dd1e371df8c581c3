// SPDX-License-Identifier: MIT
// A thread that gives memory back while the program sleeps. It is not one of
// libc's: it calls nothing but the kernel, takes no signal, has no
// capabilities, and does not keep the process alive. It sleeps until memory
// waits, and ends when none has for a while.
//
// By default only processes that have nothing to lose by it get one: not root,
// no capabilities, not AT_SECURE. It ends before the process changes who it is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/base/waiting.hpp"

namespace heapwright::heap {

// What the thread does. It finds `variable` in a thread-local variable, which
// lies so far from a thread's pointer.
struct ThreadWork {
  void (*run)() noexcept;
  std::ptrdiff_t variable_offset;
  void* variable;
};
// Before any call that may start it, in a process that may have it.
void set_thread_work(const ThreadWork& of_thread) noexcept;

// For what it does: counted up when it is rung, and at its end.
std::uint32_t thread_bell() noexcept;
// Until the bell is no longer `seen`.
void sleep_until_rung(std::uint32_t seen, std::uint64_t most_ns) noexcept;
bool is_thread_to_end() noexcept;
// False: it is to go on, because memory came to wait meanwhile, or its start is under way.
bool leave_thread() noexcept;

// Starts the thread unless it runs or may not.
void start_maintenance() noexcept;
// The same if there was one before: in the child of a fork, or it ended because
// nothing waited. False: there is none.
void restart_maintenance() noexcept;
bool restart_idle_thread() noexcept;

// Before something is stamped that waits from now on: rings when nothing did.
// Not under a lock of the heap's own parts.
void announce_waiting_memory() noexcept;
inline void note_waiting_memory() noexcept {
  if (waiting.is_there.load(std::memory_order_relaxed) == 0) [[unlikely]] {
    announce_waiting_memory();
  }
}

// Runs, or is about to.
bool is_maintenance_thread_there() noexcept;
// Ends it, and waits until it is gone; none is started from now on.
void forbid_maintenance_thread() noexcept;

// Whether the caller is that thread.
bool is_maintenance_thread() noexcept;

// In the child of a fork: the thread is not there.
void forget_maintenance_thread() noexcept;

}  // namespace heapwright::heap
