// SPDX-License-Identifier: MIT
// What the owner of a slab does to it: opening, closing, taking what others freed,
// making blocks, asking to be told.
#pragma once

#include <cstdint>

#include "heap/pages/run.hpp"
#include "heap/slabs/slab_line.hpp"

namespace heapwright::heap {

// A new slab with no block carved, in a run of `units`, owned by `owner`.
UnitLine* open_slab(Run run, std::uint32_t size_class, std::uint32_t units, ThreadCache* owner) noexcept;
// No block of the slab is in use. Its memory goes back to the page source.
void close_slab(UnitLine* slab) noexcept;

// All blocks of the free list.
Chain take_listed(UnitLine* slab) noexcept;
// All blocks that others freed.
Chain take_remote(UnitLine* slab) noexcept;
// The opposite, of blocks that were taken; false: others freed some meanwhile.
bool put_remote(UnitLine* slab, const Chain& chain) noexcept;
// Blocks not in circulation: one that begins an untouched page, which it does
// not touch, or else the rest of a page. Never more than carve_bytes' worth.
Chain carve(UnitLine* slab) noexcept;

// Sets the next event: the count of blocks outside at which on_event() has to look.
void schedule_event(UnitLine* slab, std::uint32_t detached = 0) noexcept;

// From now on a remote free that makes the remote list `count` long tells the
// owner. False, and nothing changed: it is that long already.
bool watch(UnitLine* slab, std::uint32_t count) noexcept;
// False: a notice is under way, and the slab must stay with its owner until it
// has arrived.
bool unwatch(UnitLine* slab) noexcept;
// What both do, with one compare-and-swap. Unless it is armed now, a watch from
// before stays as it was; notified: a notice is under way.
enum class Watch : std::uint8_t { armed, reached, notified };
Watch rewatch(UnitLine* slab, std::uint32_t count) noexcept;

// The equations above, and every free block inside, on a block's boundary and
// once. For tests; no other thread may use the slab.
bool slab_is_valid(const UnitLine* slab) noexcept;

}  // namespace heapwright::heap
