// SPDX-License-Identifier: MIT
// Slabs of which other threads freed every block, while the thread that has them does
// not come by: whoever needs a slab takes them out of its cache, and maintenance does.
//
// Who has the notice about a slab (slab_events.hpp) and holds the lists of its cache may
// take it out, if all its blocks are in the remote list and it is not the first of its
// queue: then its thread neither has a block of it to free nor takes one from it.
#pragma once

#include <cstdint>

#include "heap/threads/thread_cache.hpp"

namespace heapwright::heap {

// Before `own` opens a slab of so many units: as many of those that another cache has go to the
// page source, if its thread did not come by between two such calls. At most 32 notices, no
// system call but to wake the maintenance thread.
void take_over_returned(ThreadCache* own, std::uint32_t units) noexcept;

// The same as a piece of maintenance, of a cache that was told `least_age` ticks ago or more. False:
// there was nothing to look at.
bool take_over_asleep(std::uint16_t now, std::uint16_t least_age) noexcept;
bool has_returned_slabs() noexcept;

}  // namespace heapwright::heap
