// SPDX-License-Identifier: MIT
// A thread that gives memory back while the program sleeps. It is not one of
// libc's: it calls nothing but the kernel, takes no signal, has no
// capabilities, and does not keep the process alive. It sleeps until memory
// waits, and ends when none has for a while.
//
// By default only processes that have nothing to lose by it get one: not root,
// no capabilities, not AT_SECURE. It ends before the process changes who it is.
#pragma once

namespace heapwright::heap {

// The process has no rights that another thread could keep or lend.
bool is_thread_harmless() noexcept;

// Starts the thread unless it runs or may not.
void start_maintenance() noexcept;
// The same if there was one before: in the child of a fork, or it ended because
// nothing waited. False: there is none.
void restart_maintenance() noexcept;
bool restart_idle_thread() noexcept;

void wake_maintenance_thread() noexcept;
// Runs, or is about to.
bool is_maintenance_thread_there() noexcept;
// Ends it, and waits until it is gone; none is started from now on.
void forbid_maintenance_thread() noexcept;

// Whether the caller is that thread.
bool is_maintenance_thread() noexcept;

// In the child of a fork: the thread is not there.
void forget_maintenance_thread() noexcept;

}  // namespace heapwright::heap
