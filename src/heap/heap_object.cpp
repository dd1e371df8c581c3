// SPDX-License-Identifier: MIT
#include "heap/heap_object.hpp"

#include <algorithm>
#include <cstring>

#include "heap/allocate.hpp"
#include "heap/counting.hpp"
#include "heap/large.hpp"
#include "heap/page_source.hpp"
#include "heap/process.hpp"

namespace heapwright::heap {

static_assert(sizeof(heapwright_heap) <= unit_bytes);

namespace {

struct Heaps {
  Lock lock;
  heapwright_heap* live;
  heapwright_heap* destroyed;
  heapwright_heap* reusable;
};
constinit Heaps heaps{};

counters::LockCounters& lock_counters() noexcept { return counters_page->page.heap_lock; }

heapwright_heap* take_reusable() noexcept {
  const LockGuard locked(heaps.lock, lock_counters());
  heapwright_heap* heap = heaps.reusable;
  if (heap != nullptr) heaps.reusable = heap->next_destroyed;
  return heap;
}

heapwright_heap* make_heap() noexcept {
  const Run run = allocate_run(1);
  if (run.unit == 0) return nullptr;
  if (!run.is_zeroed) std::memset(memory_of(run.unit), 0, sizeof(heapwright_heap));
  return reinterpret_cast<heapwright_heap*>(memory_of(run.unit));
}

}  // namespace

heapwright_heap* create_heap(const char* name) noexcept {
  if (!initialize_process()) return nullptr;
  heapwright_heap* heap = take_reusable();
  if (heap == nullptr) heap = make_heap();
  if (heap == nullptr) return nullptr;
  heap->name = name;
  heap->cache.is_private = true;
  const LockGuard locked(heaps.lock, lock_counters());
  heap->previous = nullptr;
  heap->next = heaps.live;
  if (heaps.live != nullptr) heaps.live->previous = heap;
  heaps.live = heap;
  return heap;
}

void* allocate_in(heapwright_heap* heap, std::size_t bytes, std::size_t alignment) noexcept {
  const std::size_t needed = aligned_bytes(bytes, alignment);
  if (needed == 0) return allocate_large(bytes, alignment, &heap->cache).memory;
  const LockGuard locked(heap->lock, lock_counters());
  return take_block(&heap->cache, class_of(needed));
}

void free_in(heapwright_heap* heap, UnitLine* slab, void* block) noexcept {
  const LockGuard locked(heap->lock, lock_counters());
  free_listed(&heap->cache, slab, block);
}

void destroy_heap(heapwright_heap* heap) noexcept {
  const LockGuard locked(heaps.lock, lock_counters());
  (heap->previous != nullptr ? heap->previous->next : heaps.live) = heap->next;
  if (heap->next != nullptr) heap->next->previous = heap->previous;
  heap->cursor = first_unit();
  heap->next_destroyed = heaps.destroyed;
  heaps.destroyed = heap;
}

namespace {

void close_if_of(std::uint32_t unit, const ThreadCache* owner) noexcept {
  UnitLine* line = line_of(unit);
  if (line->owner.load(std::memory_order_relaxed) != owner) return;
  if (line->kind == UnitKind::slab) close_slab(line);
  if (line->kind == UnitKind::large) free_large(line);
}

}  // namespace

bool dismantle_heap() noexcept {
  heapwright_heap* heap = nullptr;
  {
    const LockGuard locked(heaps.lock, lock_counters());
    heap = heaps.destroyed;
    if (heap == nullptr) return false;
  }
  constexpr std::uint32_t slice = 256;
  const std::uint32_t end = unit_frontier();
  const std::uint32_t stop = std::min(end, heap->cursor + slice);
  for (; heap->cursor < stop; ++heap->cursor) close_if_of(heap->cursor, &heap->cache);
  if (stop < end) return true;
  const LockGuard locked(heaps.lock, lock_counters());
  heapwright_heap** link = &heaps.destroyed;  // others may have been put in front
  while (*link != heap) link = &(*link)->next_destroyed;
  *link = heap->next_destroyed;
  std::memset(static_cast<void*>(heap), 0, sizeof(heapwright_heap));
  heap->next_destroyed = heaps.reusable;
  heaps.reusable = heap;
  return true;
}

void for_each_heap(void (*visit)(const heapwright_heap&, void*), void* context) noexcept {
  const LockGuard locked(heaps.lock, lock_counters());
  for (heapwright_heap* heap = heaps.live; heap != nullptr; heap = heap->next) {
    const LockGuard heap_locked(heap->lock, lock_counters());
    visit(*heap, context);
  }
}

void lock_heaps() noexcept {
  heaps.lock.lock(lock_counters());
  for (heapwright_heap* heap = heaps.live; heap != nullptr; heap = heap->next)
    heap->lock.lock(lock_counters());
}

void unlock_heaps() noexcept {
  for (heapwright_heap* heap = heaps.live; heap != nullptr; heap = heap->next) heap->lock.unlock();
  heaps.lock.unlock();
}

}  // namespace heapwright::heap
