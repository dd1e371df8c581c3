// SPDX-License-Identifier: MIT
// Slabs left behind: after a fork the child has the slabs of the parent's other threads, but not
// the threads.
//
// The child sees each other thread's stores up to some moment, in order. If that thread was using
// the first slab of a queue or freeing a block, a block may be in a list and not yet counted, or
// the reverse, and at most one call's blocks are lost. So the list of such a slab is walked and
// recounted before use; then the slab goes into the pool. A thread that was changing its queues
// held its `lists`, which are never unlocked.
#pragma once

#include <cstdint>

namespace heapwright::heap {

// Called before fresh memory is touched for one of the classes. Walks at most 256 links of such a
// slab's list and examines 64 caches. True: the pool may have one more slab.
bool settle_left_behind(std::uint32_t size_class, std::uint32_t other_class) noexcept;

}  // namespace heapwright::heap
