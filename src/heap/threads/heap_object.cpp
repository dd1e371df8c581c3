// SPDX-License-Identifier: MIT
#include "heap/threads/heap_object.hpp"

#include <algorithm>
#include <cstring>

#include "heap/base/counting.hpp"
#include "heap/base/own_thread.hpp"
#include "heap/pages/free_runs.hpp"
#include "heap/pages/large.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/slabs/slab.hpp"
#include "heap/threads/quarantine.hpp"
#include "heap/threads/refill.hpp"
#include "heap/threads/slab_events.hpp"

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

counters::LockCounters& lock_counters() noexcept { return counters_page->heap.heap_lock; }

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

namespace {

// Null: `spare` says what is missing. An unused spare run stays in it.
void* take_under_lock(heapwright_heap* heap, std::uint32_t size_class, SpareRun& spare) noexcept {
  const LockGuard locked(heap->lock, lock_counters());
  heap->cache.spare = spare;
  void* block = take_block(&heap->cache, size_class);
  spare = heap->cache.spare;
  return block;
}

}  // namespace

void* allocate_in(heapwright_heap* heap, std::size_t bytes, std::size_t alignment) noexcept {
  const std::size_t needed = aligned_bytes(bytes, alignment);
  if (needed == 0) return allocate_large(bytes, alignment, &heap->cache).memory;
  const std::uint32_t size_class = class_of(needed);
  SpareRun spare{};
  // Repeats if another thread used the spare run first.
  for (;;) {
    void* block = take_under_lock(heap, size_class, spare);
    if (spare.units != 0) free_run(spare.run.unit, spare.units, !spare.run.is_zeroed);
    if (block != nullptr) return block;
    spare.run = allocate_run(spare.lacking_units);
    if (spare.run.unit == 0) return nullptr;
    spare.units = spare.lacking_units;
  }
}

void free_in(heapwright_heap* heap, UnitLine* slab, void* block) noexcept {
  const LockGuard locked(heap->lock, lock_counters());
  free_listed(&heap->cache, slab, block);
}

void quarantine_in(heapwright_heap* heap, UnitLine* line, char* block) noexcept {
  const LockGuard locked(heap->lock, lock_counters());
  put_in_quarantine(&heap->cache, line, block);
}

bool let_go_for(heapwright_heap* heap, std::size_t bytes) noexcept {
  // A larger request would fail anyway; emptying the quarantines would gain nothing.
  if (bytes > committed_bytes()) return false;
  ThreadCache* cache = cache_of_thread();
  const bool has_left = cache != nullptr && let_all_go(cache);
  if (heap == nullptr) return has_left;
  const LockGuard locked(heap->lock, lock_counters());
  return let_all_go(&heap->cache) || has_left;
}

void empty_quarantine_of(heapwright_heap* heap) noexcept {
  const LockGuard locked(heap->lock, lock_counters());
  empty_quarantine(&heap->cache);
}

heapwright_heap* late_heap() noexcept {
  static std::atomic<heapwright_heap*> late{nullptr};
  heapwright_heap* heap = late.load(std::memory_order_acquire);
  if (heap != nullptr) return heap;
  heapwright_heap* made = create_heap("late");
  if (made == nullptr) return nullptr;
  if (late.compare_exchange_strong(heap, made, std::memory_order_acq_rel)) return made;
  destroy_heap(made);
  return heap;
}

void destroy_heap(heapwright_heap* heap) noexcept {
  note_waiting_memory();
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
  const UnitKind kind = line->kind;  // after closing, it may be another thread's large block
  if (kind == UnitKind::slab) close_slab(line);
  if (kind == UnitKind::large) free_large(line);
}

}  // namespace

bool dismantle_heap() noexcept {
  heapwright_heap* heap = nullptr;
  {
    const LockGuard locked(heaps.lock, lock_counters());
    heap = heaps.destroyed;
    if (heap == nullptr) return false;
  }
  constexpr std::uint32_t slice = 16;
  const std::uint32_t end = unit_frontier();
  const std::uint32_t stop = std::min(end, heap->cursor + slice);
  for (; heap->cursor < stop; ++heap->cursor) {
    count_steps();
    close_if_of(heap->cursor, &heap->cache);
  }
  if (stop < end) return true;
  const LockGuard locked(heaps.lock, lock_counters());
  heapwright_heap** link = &heaps.destroyed;  // others may have been inserted in front
  while (*link != heap) link = &(*link)->next_destroyed;
  *link = heap->next_destroyed;
  std::memset(static_cast<void*>(heap), 0, sizeof(heapwright_heap));
  heap->next_destroyed = heaps.reusable;
  heaps.reusable = heap;
  return true;
}

void with_heap(const heapwright_heap* heap, void (*visit)(const heapwright_heap&, void*),
               void* context) noexcept {
  const LockGuard locked(const_cast<heapwright_heap*>(heap)->lock, lock_counters());
  visit(*heap, context);
}

void for_each_heap(void (*visit)(const heapwright_heap&, void*), void* context) noexcept {
  const LockGuard locked(heaps.lock, lock_counters());
  for (heapwright_heap* heap = heaps.live; heap != nullptr; heap = heap->next) {
    const LockGuard heap_locked(heap->lock, lock_counters());
    visit(*heap, context);
  }
}

Lock& heaps_lock() noexcept { return heaps.lock; }

void for_each_heap_lock(void (*visit)(Lock&, std::uint64_t), std::uint64_t argument) noexcept {
  for (heapwright_heap* heap = heaps.live; heap != nullptr; heap = heap->next) visit(heap->lock, argument);
}

bool has_destroyed_heaps() noexcept {
  const LockGuard locked(heaps.lock, lock_counters());
  return heaps.destroyed != nullptr;
}

}  // namespace heapwright::heap
