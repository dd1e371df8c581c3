// SPDX-License-Identifier: MIT
// The slabs of a cache, by class: each is either in its class's queue or in the ring of
// slabs that wait for frees. malloc takes blocks from the first slab of a queue. All of
// this is under ThreadCache::lists.
#pragma once

#include <cstdint>

#include "heap/threads/thread_cache.hpp"

namespace heapwright::heap {

inline ClassSlot& slot_of(ThreadCache* cache, const UnitLine* slab) noexcept {
  return cache->slots[slab->size_class];
}

// Makes `list`, of the class `serving`, current for requests of `size_class`.
void make_current(ThreadCache* cache, std::uint32_t serving, const BlockList* list,
                  std::uint32_t size_class) noexcept;

// The list has no block left: it is current no more.
void clear_steps(ThreadCache* cache, const ClassSlot& slot, const BlockList& list) noexcept;

// Updates the counters of the class from the slab, of which `outside` blocks are allocated
// or in the remote list.
void count_blocks(ThreadCache* cache, UnitLine* slab, std::uint32_t outside) noexcept;

// Adds `more` units to the class's slabs, modulo 2^32.
void hold_units(ThreadCache* cache, std::uint32_t size_class, std::uint32_t more) noexcept;

void join_queue(ThreadCache* cache, UnitLine* slab) noexcept;
void leave_queue(ThreadCache* cache, UnitLine* slab) noexcept;
void join_ring(ThreadCache* cache, UnitLine* slab) noexcept;
// Removes the slab from its queue or ring and from the cache.
void leave_class(ThreadCache* cache, UnitLine* slab) noexcept;
// Moves the slab from the ring into the queue. A kept slab there stays kept only while it is the only one.
void enlist(ThreadCache* cache, UnitLine* slab) noexcept;

bool is_only_one(const ThreadCache* cache, const UnitLine* slab) noexcept;
// Keeps the only slab of its class, so that a pair of calls does not close and reopen it.
// False: too much is kept already.
bool keep(ThreadCache* cache, UnitLine* slab) noexcept;
void unkeep(ThreadCache* cache, UnitLine* slab) noexcept;

}  // namespace heapwright::heap
