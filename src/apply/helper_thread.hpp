// SPDX-License-Identifier: MIT
// A thread of ours in the program's process, for work that nobody waits for.
#pragma once

namespace heapwright::apply {

// Detached, and without the program's signals. False: there can be none.
bool start_helper_thread(void* (*body)(void*), void* argument) noexcept;

}  // namespace heapwright::apply
