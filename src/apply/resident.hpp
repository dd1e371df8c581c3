// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace heapwright::apply {

// The process's resident memory, by system calls alone; 0: unknown.
std::uint64_t resident_bytes() noexcept;

}  // namespace heapwright::apply
