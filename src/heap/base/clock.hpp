// SPDX-License-Identifier: MIT
// The time without a system call, which a seccomp filter may forbid, and without
// the C library's function, which others may interpose. With a clock source that
// only the kernel can read, monotonic_ns() makes a system call after all.
#pragma once

#include <cstdint>

namespace heapwright::heap {

// Finds the kernel's clock code. Once, before the functions below.
void find_clock() noexcept;

std::uint64_t monotonic_ns() noexcept;
// As of the last timer interrupt, 1 to 10 ms ago; costs a few loads.
std::uint64_t coarse_ns() noexcept;

}  // namespace heapwright::heap
