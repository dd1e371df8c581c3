// SPDX-License-Identifier: MIT
// The owner's operations on a slab: open, close, take cross-thread frees, carve blocks,
// request notices.
#pragma once

#include <cstdint>

#include "heap/pages/run.hpp"
#include "heap/slabs/slab_line.hpp"

namespace heapwright::heap {

// A new slab with no block carved, in a run of `units`, owned by `owner`.
UnitLine* open_slab(Run run, std::uint32_t size_class, std::uint32_t units, ThreadCache* owner) noexcept;
// Returns the slab's memory to the page source. No block may be in use.
void close_slab(UnitLine* slab) noexcept;

// Takes all blocks of the free list.
Chain take_listed(UnitLine* slab) noexcept;
// Takes all blocks that others freed.
Chain take_remote(UnitLine* slab) noexcept;
// Puts taken blocks back into the remote list. False: others freed some meanwhile.
bool put_remote(UnitLine* slab, const Chain& chain) noexcept;
// Takes blocks not yet in circulation: the one that begins an untouched page, without
// touching it, or the rest of a page. At most carve_bytes' worth.
Chain carve(UnitLine* slab) noexcept;

// Sets the next event: the count of frees at which on_event() is called.
void schedule_event(UnitLine* slab, std::uint32_t detached = 0) noexcept;

// From now on the remote free that makes the remote list `count` long sends the owner a
// notice. False, and nothing changed: the list is already that long.
bool watch(UnitLine* slab, std::uint32_t count) noexcept;
// Cancels the watch. False: a notice is under way, and the slab must keep its owner until
// it arrives.
bool unwatch(UnitLine* slab) noexcept;
// unwatch() and watch() with one compare-and-swap. Unless the result is `armed`, an earlier
// watch is unchanged; notified: a notice is under way.
enum class Watch : std::uint8_t { armed, reached, notified };
Watch rewatch(UnitLine* slab, std::uint32_t count) noexcept;

// Checks the equations of slab_line.hpp, and that every free block is in the slab, on a
// block boundary and listed once. For tests; no other thread may use the slab.
bool slab_is_valid(const UnitLine* slab) noexcept;

}  // namespace heapwright::heap
