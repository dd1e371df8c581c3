// SPDX-License-Identifier: MIT
// What a process may do that others may not.
#pragma once

namespace heapwright::heap {

// The process has no rights that another thread could keep or lend: it is not
// root, has no capabilities and is not AT_SECURE. Nor could that be in the way later.
bool is_thread_harmless() noexcept;

// Another thread ends before the process changes who it is: false unless what
// stands in front of such calls is linked in (front/identity_entry_points.cpp).
bool is_thread_ended_before_changes() noexcept;

// The calling thread's capabilities, and no other's.
void give_up_rights() noexcept;

}  // namespace heapwright::heap
