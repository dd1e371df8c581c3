// SPDX-License-Identifier: MIT
// Slabs of threads that a fork left behind: in the child they are there, their threads are not.
//
// The child finds of each other thread what that had stored up to some moment, in order. If it was
// within the first slab of a queue or within a free, a block is in a list and not counted yet, or
// the other way round, and at most one call's blocks are in nobody's hands. So the list of such a
// slab is walked along and counted before anybody uses it. Whoever then needs blocks finds the slab
// in the pool. A thread that was changing its queues held its lists, and they are never opened.
#pragma once

#include <cstdint>

namespace heapwright::heap {

// Before fresh memory is touched for blocks of one of the classes. At most 256 links of a list of
// such a slab, and looks at 64 caches. True: the pool may have one more.
bool settle_left_behind(std::uint32_t size_class, std::uint32_t other_class) noexcept;

}  // namespace heapwright::heap
