// SPDX-License-Identifier: MIT
// Takes over slabs of which other threads freed every block while their owner sleeps. A
// thread that needs a slab does so, and maintenance.
//
// The thread that has a slab's notice (slab_events.hpp) and holds its cache's `lists` may
// take it out if all its blocks are in the remote list and it is not the first of its
// queue: then its owner neither has a block of it to free nor takes one from it.
#pragma once

#include <cstdint>

#include "heap/threads/thread_cache.hpp"

namespace heapwright::heap {

// Before `own` opens a slab of `units`: moves such slabs of that many units from another
// cache to the page source, if its thread did not refill between two such calls. Handles
// at most 32 notices; no system call except to wake the maintenance thread.
void take_over_returned(ThreadCache* own, std::uint32_t units) noexcept;

// The same as a piece of maintenance, for a cache whose report is at least `least_age` ticks old. False:
// nothing to do.
bool take_over_asleep(std::uint16_t now, std::uint16_t least_age) noexcept;
bool has_returned_slabs() noexcept;

}  // namespace heapwright::heap
