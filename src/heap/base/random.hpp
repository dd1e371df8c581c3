// SPDX-License-Identifier: MIT
// Numbers that others cannot guess: where the heap lies, and its keys.
#pragma once

#include <cstdint>

namespace heapwright::heap {

// From the kernel; a system call, so for the start of the process only.
std::uint64_t random_word() noexcept;

}  // namespace heapwright::heap
