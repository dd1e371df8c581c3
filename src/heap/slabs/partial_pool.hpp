// SPDX-License-Identifier: MIT
// Sparse slabs without an owner: any thread that needs blocks of their class takes them
// over; meanwhile maintenance returns their free pages.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/base/lock.hpp"
#include "heap/slabs/slab.hpp"

namespace heapwright::heap {

// The slab must be unwatched and in no queue; from now on it is watched for its last
// block. False: that is already free, and the caller still owns the slab.
bool pool_slab(UnitLine* slab) noexcept;

// Whether claim_slab() would find one, without the lock.
bool has_pooled_slab(std::uint32_t size_class) noexcept;
// Claims a slab of the class for `owner`. Null: none.
UnitLine* claim_slab(std::uint32_t size_class, ThreadCache* owner) noexcept;

// Claims a slab whose last block was freed. False: another thread claimed it meanwhile.
bool claim_this_slab(UnitLine* slab) noexcept;

// Claims for `owner` a slab that was pooled at least `least_age` ticks ago and not purged
// since. Null: none in the next classes_per_look classes.
inline constexpr std::uint32_t classes_per_look = 64;
UnitLine* claim_unpurged(std::uint16_t now, std::uint16_t least_age, ThreadCache* owner) noexcept;
// The same for a slab of any age that can become mixed or was not purged.
UnitLine* claim_usable(ThreadCache* owner) noexcept;
// Returns a slab from one of these, unwatched. False as for pool_slab().
bool pool_purged(UnitLine* slab) noexcept;

bool has_unpurged_slabs() noexcept;
// The bytes of all slabs here, of the unpurged ones, and of those for claim_usable(), including live blocks.
// Without a lock.
std::size_t pooled_bytes() noexcept;
std::size_t unpurged_bytes() noexcept;
std::size_t usable_bytes_of_pool() noexcept;

Lock& pool_lock() noexcept;
bool pool_is_valid() noexcept;

}  // namespace heapwright::heap
