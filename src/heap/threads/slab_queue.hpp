// SPDX-License-Identifier: MIT
// The slabs of a cache, by class: each is either in its class's queue or in the
// ring of those that wait for blocks to come back. The first of a queue is
// where malloc takes blocks from. All of this is under ThreadCache::lists.
#pragma once

#include <cstdint>

#include "heap/threads/thread_cache.hpp"

namespace heapwright::heap {

inline ClassSlot& slot_of(ThreadCache* cache, const UnitLine* slab) noexcept {
  return cache->slots[slab->size_class];
}

// `list` of the first slab of a queue, for a request of the class.
void make_current(ThreadCache* cache, const UnitLine* slab, const BlockList* list,
                  std::uint32_t size_class) noexcept;

// Brings the counters of the class up to date with the slab, of which `outside`
// blocks are handed out or in the remote list.
void count_blocks(ThreadCache* cache, UnitLine* slab, std::uint32_t outside) noexcept;

// Slabs of so many units more, modulo 2^32.
void hold_units(ThreadCache* cache, std::uint32_t size_class, std::uint32_t more) noexcept;

void join_queue(ThreadCache* cache, UnitLine* slab) noexcept;
void leave_queue(ThreadCache* cache, UnitLine* slab) noexcept;
void join_ring(ThreadCache* cache, UnitLine* slab) noexcept;
// Leaves queue or ring, and is the cache's no more.
void leave_class(ThreadCache* cache, UnitLine* slab) noexcept;
// From the ring into the queue, whose slab is kept only as long as it is the only one.
void enlist(ThreadCache* cache, UnitLine* slab) noexcept;

bool is_only_one(const ThreadCache* cache, const UnitLine* slab) noexcept;
// Keeps a slab that is the only one of its class from being given up and
// fetched again by each pair of calls. False: too much is kept already.
bool keep(ThreadCache* cache, UnitLine* slab) noexcept;
void unkeep(ThreadCache* cache, UnitLine* slab) noexcept;

}  // namespace heapwright::heap
