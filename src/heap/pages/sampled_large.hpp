// SPDX-License-Identifier: MIT
// Without hardened mode: some blocks above slab_limit_bytes lie between units that cannot be
// reached, and cannot be reached themselves for a while after they were freed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/pages/large.hpp"

namespace heapwright::heap {

// Live ones and those that wait; each splits a mapping up to three times.
inline constexpr std::uint32_t most_sampled = 128;

// As allocate_large(). Null: this one is not sampled, or there was no memory for it. `left` is the calling
// thread's: how many blocks there are up to the next one that is, 0: that was not drawn yet.
LargeBlock allocate_sampled(std::size_t bytes, std::uint32_t* left) noexcept;

inline bool is_sampled_large(const UnitLine* line) noexcept { return (line->flags & is_guarded_large) != 0; }
// False: the block was freed before.
bool free_sampled(UnitLine* line) noexcept;

}  // namespace heapwright::heap
