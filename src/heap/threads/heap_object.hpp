// SPDX-License-Identifier: MIT
// Private heaps: a cache that no thread has, under a lock.
#pragma once

#include <cstddef>

#include "heap/base/lock.hpp"
#include "heap/threads/caches.hpp"

struct heapwright_heap {
  heapwright::heap::ThreadCache cache;
  heapwright::heap::Lock lock;
  const char* name;
  heapwright_heap* next;  // of all heaps that live
  heapwright_heap* previous;
  heapwright_heap* next_destroyed;  // or ready to be used again
  std::uint32_t cursor;             // destroyed: units below were looked at; else 0
};

namespace heapwright::heap {

// In a process that is initialized.
heapwright_heap* create_heap(const char* name) noexcept;
void* allocate_in(heapwright_heap* heap, std::size_t bytes, std::size_t alignment) noexcept;
// `slab` is the heap's own.
void free_in(heapwright_heap* heap, UnitLine* slab, void* block) noexcept;
// In hardened mode none of its blocks is in quarantine any more.
void destroy_heap(heapwright_heap* heap) noexcept;

// Of threads whose cache is gone, or that get none. Null: no memory.
heapwright_heap* late_heap() noexcept;

// The heap that a slab or large block with such an owner belongs to.
inline heapwright_heap* heap_of(const UnitLine* line) noexcept {
  return reinterpret_cast<heapwright_heap*>(line->owner.load(std::memory_order_relaxed));
}
// Hardened mode: a block of the heap that was marked as freed waits in its quarantine.
void quarantine_in(heapwright_heap* heap, UnitLine* line, char* block) noexcept;
// Before so many bytes are refused: all that wait in the calling thread's quarantine leave, and in that of
// the heap, which may be null. False: none did.
bool let_go_for(heapwright_heap* heap, std::size_t bytes) noexcept;
// Before it is destroyed: those that wait are looked at.
void empty_quarantine_of(heapwright_heap* heap) noexcept;

// One piece of work on destroyed heaps: 16 units looked at. False: nothing was left.
bool dismantle_heap() noexcept;

// Under the heap's lock, or under each heap's.
void with_heap(const heapwright_heap* heap, void (*visit)(const heapwright_heap&, void*),
               void* context) noexcept;
void for_each_heap(void (*visit)(const heapwright_heap&, void*), void* context) noexcept;

bool has_destroyed_heaps() noexcept;

Lock& heaps_lock() noexcept;
// Under that lock.
void for_each_heap_lock(void (*visit)(Lock&, std::uint64_t), std::uint64_t argument) noexcept;

}  // namespace heapwright::heap
