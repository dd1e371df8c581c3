// SPDX-License-Identifier: MIT
// The special rights of a process.
#pragma once

namespace heapwright::heap {

// Root's, capabilities, or more than the caller's (AT_SECURE): which another thread could keep or lend.
bool has_special_rights() noexcept;

// Whether the thread ends before the process changes its credentials or restrictions: false unless the
// interposed calls are linked in (front/identity_entry_points.cpp).
bool is_thread_ended_before_changes() noexcept;

// Drops the capabilities of the calling thread only.
void give_up_rights() noexcept;

}  // namespace heapwright::heap
