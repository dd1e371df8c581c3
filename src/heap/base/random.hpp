// SPDX-License-Identifier: MIT
// Numbers that others cannot guess: where the heap lies, and its keys.
#pragma once

#include <cstdint>

namespace heapwright::heap {

// From the kernel; a system call, so for the start of the process only.
std::uint64_t random_word() noexcept;

// For later words: draws their key, once, at the start of the process.
void draw_word_key() noexcept;
// Another one each time; no system call, which a filter may forbid by now.
std::uint64_t next_word() noexcept;

}  // namespace heapwright::heap
