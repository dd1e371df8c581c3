// SPDX-License-Identifier: MIT
// skip-frees-at-exit: from main's return or the call of exit() on, what the thread that ends the process
// frees stays as it is. The kernel takes it all in a moment. Nothing is skipped where memory is limited, and
// no more once the process has become larger than it was then: an exit handler may work for long.
#pragma once

#include <cstdint>

namespace heapwright::apply {

// False: this allocator does not tell how large a block is.
bool skip_frees_at_exit() noexcept;

std::uint64_t skipped_frees() noexcept;

// A child of a fork frees until it exits itself.
void forget_exit_in_child() noexcept;

// Before the program's first instruction: exit() may be called where a look-up is not safe.
void find_exit() noexcept;

}  // namespace heapwright::apply
