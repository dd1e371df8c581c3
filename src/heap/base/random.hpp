// SPDX-License-Identifier: MIT
// Unpredictable numbers for the heap's base address and its keys.
#pragma once

#include <cstdint>

namespace heapwright::heap {

// From the kernel by a system call: only at the start of the process.
std::uint64_t random_word() noexcept;

// Draws the key for later words, once, at the start of the process.
void draw_word_key() noexcept;
// A new word each time, without a system call, which a filter may forbid by then.
std::uint64_t next_word() noexcept;

}  // namespace heapwright::heap
