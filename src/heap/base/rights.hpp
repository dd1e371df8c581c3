// SPDX-License-Identifier: MIT
// What a process may do that others may not.
#pragma once

namespace heapwright::heap {

// The process has no rights that another thread could keep or lend: it is not
// root, has no capabilities and is not AT_SECURE.
bool is_thread_harmless() noexcept;

// The calling thread's capabilities, and no other's.
void give_up_rights() noexcept;

}  // namespace heapwright::heap
