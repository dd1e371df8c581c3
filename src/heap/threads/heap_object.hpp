// SPDX-License-Identifier: MIT
// A private heap: a cache without a thread, under a lock.
#pragma once

#include <cstddef>

#include "heap/base/lock.hpp"
#include "heap/threads/caches.hpp"

struct heapwright_heap {
  heapwright::heap::ThreadCache cache;
  heapwright::heap::Lock lock;
  const char* name;
  heapwright_heap* next;  // in the list of live heaps
  heapwright_heap* previous;
  heapwright_heap* next_destroyed;  // or in the list of reusable ones
  std::uint32_t cursor;             // destroyed: units below were dismantled; else 0
};

namespace heapwright::heap {

// The process must be initialized.
heapwright_heap* create_heap(const char* name) noexcept;
void* allocate_in(heapwright_heap* heap, std::size_t bytes, std::size_t alignment) noexcept;
// `slab` belongs to the heap.
void free_in(heapwright_heap* heap, UnitLine* slab, void* block) noexcept;
// In hardened mode, call empty_quarantine_of() before.
void destroy_heap(heapwright_heap* heap) noexcept;

// For threads whose cache is gone, or that get none. Null: no memory.
heapwright_heap* late_heap() noexcept;

// The heap of a slab or large block that belongs to one.
inline heapwright_heap* heap_of(const UnitLine* line) noexcept {
  return reinterpret_cast<heapwright_heap*>(line->owner.load(std::memory_order_relaxed));
}
// Hardened mode: puts a block that is marked as freed into the heap's quarantine.
void quarantine_in(heapwright_heap* heap, UnitLine* line, char* block) noexcept;
// Before an allocation of `bytes` fails: empties the quarantines of the calling thread and of the heap, which
// may be null. False: both were empty.
bool let_go_for(heapwright_heap* heap, std::size_t bytes) noexcept;
// Before the heap is destroyed: checks and removes the quarantined blocks.
void empty_quarantine_of(heapwright_heap* heap) noexcept;

// One piece of work on destroyed heaps: 16 units. False: nothing was left.
bool dismantle_heap() noexcept;

// Visits one heap, or each live heap, under its lock.
void with_heap(const heapwright_heap* heap, void (*visit)(const heapwright_heap&, void*),
               void* context) noexcept;
void for_each_heap(void (*visit)(const heapwright_heap&, void*), void* context) noexcept;

bool has_destroyed_heaps() noexcept;

Lock& heaps_lock() noexcept;
// Under heaps_lock().
void for_each_heap_lock(void (*visit)(Lock&, std::uint64_t), std::uint64_t argument) noexcept;

}  // namespace heapwright::heap
