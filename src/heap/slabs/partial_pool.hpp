// SPDX-License-Identifier: MIT
// Sparse slabs that have no owner: any thread that needs blocks of their class
// takes them over; maintenance gives their free pages back meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/base/lock.hpp"
#include "heap/slabs/slab.hpp"

namespace heapwright::heap {

// The slab must be unwatched and in no queue. Watched for its last block from
// now on. False: that is back already, and the slab is still the caller's.
bool pool_slab(UnitLine* slab) noexcept;

// What claim_slab() would find, without the lock.
bool has_pooled_slab(std::uint32_t size_class) noexcept;
// A slab of the class, now `owner`'s. Null: none.
UnitLine* claim_slab(std::uint32_t size_class, ThreadCache* owner) noexcept;

// The slab whose last block came back, if nobody has claimed it meanwhile.
bool claim_this_slab(UnitLine* slab) noexcept;

// A slab that was not looked at since it was pooled `least_age` ticks ago or
// more: now `owner`'s. Null: none in the next classes_per_look classes.
inline constexpr std::uint32_t classes_per_look = 64;
UnitLine* claim_unpurged(std::uint16_t now, std::uint16_t least_age, ThreadCache* owner) noexcept;
// Back from claim_unpurged(); unwatched. False as for pool_slab().
bool pool_purged(UnitLine* slab) noexcept;

bool has_unpurged_slabs() noexcept;
// Of all slabs here and of those that were not looked at since they were pooled, live blocks as well. Without
// a lock.
std::size_t pooled_bytes() noexcept;
std::size_t unpurged_bytes() noexcept;

Lock& pool_lock() noexcept;
bool pool_is_valid() noexcept;

}  // namespace heapwright::heap
