// SPDX-License-Identifier: MIT
// Runs of units: where slabs and large blocks come from and go to.
//
// Free runs lie in bins by length, dirty ones (used before) apart from clean
// ones (zeros); a run never mixes both. Finding, splitting and joining are a
// fixed number of steps under one lock. The system is asked outside the lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/base/lock.hpp"
#include "heap/pages/run.hpp"

namespace heapwright::heap {

// A run whose lines are all UnitKind::inside, to be described by the caller.
// `alignment_units` is a power of two. At most one growth of the region.
Run allocate_run(std::uint32_t units, std::uint32_t alignment_units = 1) noexcept;

// As allocate_run(1). A unit that was used before is preferred; clean ones come from the
// lot, which is filled from a free run when it is used up.
Run allocate_unit(UnitLot* lot) noexcept;

// As allocate_run, where there is one of zeros: what was used before would have to be emptied first, and left
// between others that are.
Run allocate_clean_run(std::uint32_t units) noexcept;

// The same as allocate_run without asking the system, for those who hold a lock; unit 0: no
// free run is that long.
Run take_run(std::uint32_t units) noexcept;

// Units below may have been handed out at some time.
std::uint32_t reached_units() noexcept;
// The heap has handed out 8 MiB at some time: less stays with the process.
bool has_outgrown_start() noexcept;
// Starts the maintenance thread if it has. For calls
// that cost as much anyway: the start is a clone().
void start_due_maintenance() noexcept;

// The lines of the run must be UnitKind::inside again. `is_dirty` false: its
// pages hold zeros.
void free_run(std::uint32_t unit, std::uint32_t units, bool is_dirty) noexcept;

// The same for a block that has been grown and may grow again: with free units
// behind it, if there is such a place.
Run allocate_run_with_room(std::uint32_t units) noexcept;

// Takes `more` units that follow `unit + units` directly, if they are free.
bool extend_run(std::uint32_t unit, std::uint32_t units, std::uint32_t more) noexcept;

// Gives back the pages of the dirty free run that waits longest, up to
// `most_units` of it, if it was freed `least_age` ticks before `now`. How many units; 0:
// there was none. They are nobody's meanwhile, hence not more than 16 MiB.
std::uint32_t purge_oldest_run(std::uint16_t now, std::uint16_t least_age,
                               std::uint32_t most_units = 256) noexcept;

// Dirty free runs are more than an eighth of the units in use.
inline constexpr std::uint32_t surplus_share = 8;
bool has_surplus() noexcept;
bool has_dirty_runs() noexcept;

// What frees of huge blocks may leave dirty in all: three times what is in use, and 64 MiB
// in any case. Less would cost the next blocks' faults while what is in use varies. A block above these 64
// MiB that is being freed is not in use any more.
inline constexpr std::size_t kept_share = 3;
std::size_t most_kept_dirty_bytes(std::size_t freed_bytes = 0) noexcept;

std::size_t dirty_bytes() noexcept;
std::size_t committed_bytes() noexcept;
Lock& page_source_lock() noexcept;
// In the child of a fork: calls of other threads that waited for memory, or made more of it, are not there.
void forget_waiting_calls() noexcept;

}  // namespace heapwright::heap
