// SPDX-License-Identifier: MIT
// Without hardened mode: some blocks above slab_limit_bytes lie between guard units and
// are inaccessible for a while after they are freed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/pages/large.hpp"

namespace heapwright::heap {

// Live and waiting ones; each splits a mapping up to three times.
inline constexpr std::uint32_t most_sampled = 128;

// As allocate_large(). Null: this block is not sampled, or no memory. `left` is the calling thread's count of
// blocks up to the next sampled one; 0: not drawn yet.
LargeBlock allocate_sampled(std::size_t bytes, std::uint32_t* left) noexcept;

inline bool is_sampled_large(const UnitLine* line) noexcept { return (line->flags & is_guarded_large) != 0; }
// False: the block had been freed before.
bool free_sampled(UnitLine* line) noexcept;

}  // namespace heapwright::heap
