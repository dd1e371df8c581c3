// SPDX-License-Identifier: MIT
// Blocks for the few calls that arrive before the real malloc is known (the
// loader and dlsym allocate while we look it up). Never given back.
#pragma once

#include <cstddef>

namespace heapwright::record {

// 16-byte aligned (or more), zeroed, nullptr when the pool is used up.
// Thread-safe.
void* early_allocate(std::size_t bytes, std::size_t alignment = 16) noexcept;

// Whether `block` came from early_allocate(). Two compares.
bool is_early(const void* block) noexcept;

// The size it was asked for; `block` must be early.
std::size_t early_size(const void* block) noexcept;

}  // namespace heapwright::record
