// SPDX-License-Identifier: MIT
// The special rights of a process.
#pragma once

namespace heapwright::heap {

// Whether another thread does no harm, now or later: the process has no rights that it
// could keep or lend (not root, no capabilities, not AT_SECURE).
bool is_thread_harmless() noexcept;

// Whether the thread ends before the process changes its credentials: false unless
// the interposed calls are linked in (front/identity_entry_points.cpp).
bool is_thread_ended_before_changes() noexcept;

// Drops the capabilities of the calling thread only.
void give_up_rights() noexcept;

}  // namespace heapwright::heap
