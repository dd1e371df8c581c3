// SPDX-License-Identifier: MIT
// The time without a system call, which a program's filter may forbid, and
// without the C library's function, which others put their own in place of.
// With a clock source that only the kernel can read, monotonic_ns() is one all the same.
#pragma once

#include <cstdint>

namespace heapwright::heap {

// Once, before the others are of use: finds the kernel's code for it.
void find_clock() noexcept;

std::uint64_t monotonic_ns() noexcept;
// As of the last timer interrupt, 1 to 10 ms ago; costs a few loads.
std::uint64_t coarse_ns() noexcept;

}  // namespace heapwright::heap
