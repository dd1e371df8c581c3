// SPDX-License-Identifier: MIT
// Runs of units for slabs and large blocks.
//
// Free runs are in bins by length, dirty ones (used before) separate from clean ones
// (zeros); a free run is never both. Finding, splitting and joining take a bounded
// number of steps under one lock. System calls are made outside the lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/base/lock.hpp"
#include "heap/pages/run.hpp"

namespace heapwright::heap {

// A run whose lines are all UnitKind::inside, for the caller to describe.
// `alignment_units` is a power of two. Grows the region at most once.
Run allocate_run(std::uint32_t units, std::uint32_t alignment_units = 1) noexcept;

// As allocate_run(1). Prefers a dirty unit; clean ones come from the lot, which is
// refilled from a free run when empty.
Run allocate_unit(UnitLot* lot) noexcept;
// The same for a thread's first slab of a class. Where such slabs are seldom used to their ends, a dirty unit
// would stay resident there: it is a short one, or a clean one. Bounded by 32 KiB of zeros to write.
Run allocate_first_unit(UnitLot* lot, std::uint32_t size_class) noexcept;

// As allocate_run, but prefers a clean run: a dirty one would have to be zeroed first, and would leave zeroed
// pages between dirty ones.
Run allocate_clean_run(std::uint32_t units) noexcept;

// As allocate_run, but without system calls, for callers that hold a lock. Unit 0: no
// free run is long enough.
Run take_run(std::uint32_t units) noexcept;

// Units below may have been allocated at some time.
std::uint32_t reached_units() noexcept;
// Whether the heap has ever allocated 8 MiB; smaller heaps return nothing.
bool has_outgrown_start() noexcept;
// Starts the maintenance thread if so. The start is a clone(): for calls of similar
// cost.
void start_due_maintenance() noexcept;

// The run's lines must be UnitKind::inside again. `is_dirty` false: its pages hold
// zeros.
void free_run(std::uint32_t unit, std::uint32_t units, bool is_dirty) noexcept;
// The same for a slab of one unit, which used so much of it. is_zeroed: whether the unit was clean before.
void free_unit_of_slab(Run run, std::uint32_t used_bytes, std::uint32_t size_class) noexcept;

// By how much a block grows at a time. One that grows in small steps would be copied at each without room.
enum class Growth : std::uint8_t { in_small_steps, by_half_or_more };

// As allocate_run, for a block that has grown and may grow again: with free units behind it, if possible and
// worth it.
Run allocate_run_with_room(std::uint32_t units, Growth growth) noexcept;

// Takes the `more` units from `unit + units` on, if they are free.
bool extend_run(std::uint32_t unit, std::uint32_t units, std::uint32_t more) noexcept;

// Returns the pages of the oldest dirty free run, up to `most_units` of it, if it was
// freed `least_age` ticks before `now`. Returns the number of units; 0: none. Meanwhile
// they are unavailable, hence at most 16 MiB.
std::uint32_t purge_oldest_run(std::uint16_t now, std::uint16_t least_age,
                               std::uint32_t most_units = 256) noexcept;

// Surplus: dirty free runs beyond an eighth of the units in use.
inline constexpr std::uint32_t surplus_share = 8;
bool has_surplus() noexcept;
bool has_dirty_runs() noexcept;

// The bound on dirty memory after frees of huge blocks: three times the memory in use, and at least 64 MiB.
// Less would cost the next blocks page faults while the memory in use varies. A block above 64 MiB that is
// being freed does not count as in use.
inline constexpr std::size_t kept_share = 3;
std::size_t most_kept_dirty_bytes(std::size_t freed_bytes = 0) noexcept;

std::size_t dirty_bytes() noexcept;
// Used, of short units; not part of dirty_bytes().
std::size_t short_bytes() noexcept;
std::size_t committed_bytes() noexcept;
Lock& page_source_lock() noexcept;
// In a forked child: forgets calls of other threads that waited for memory or grew the region.
void forget_waiting_calls() noexcept;

}  // namespace heapwright::heap
