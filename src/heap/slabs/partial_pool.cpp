// SPDX-License-Identifier: MIT
#include "heap/slabs/partial_pool.hpp"

#include <atomic>

#include "heap/base/counting.hpp"
#include "heap/base/lock.hpp"
#include "heap/base/own_thread.hpp"
#include "heap/base/settings.hpp"
#include "heap/slabs/leave_watched.hpp"
#include "heap/slabs/mixed_slab.hpp"

namespace heapwright::heap {

namespace {

// Slabs linked by next and prev.
struct SlabList {
  std::uint32_t first;
  std::uint32_t last;

  void append(UnitLine* slab) noexcept {
    const std::uint32_t unit = unit_of(slab);
    slab->next = 0;
    slab->prev = last;
    (last != 0 ? line_of(last)->next : first) = unit;
    last = unit;
  }
  void prepend(UnitLine* slab) noexcept {
    const std::uint32_t unit = unit_of(slab);
    slab->prev = 0;
    slab->next = first;
    (first != 0 ? line_of(first)->prev : last) = unit;
    first = unit;
  }
  void remove(UnitLine* slab) noexcept {
    (slab->next != 0 ? line_of(slab->next)->prev : last) = slab->prev;
    (slab->prev != 0 ? line_of(slab->prev)->next : first) = slab->next;
  }
};

// Each class has both lists, because a common list of unpurged slabs would lose the
// class's order; a sum of unpurged units tells whether to search.
struct ClassPool {
  std::atomic<std::uint32_t> slabs;
  SlabList unpurged;
  SlabList purged;  // those that can become mixed first
};

struct PartialPool {
  Lock lock;
  std::atomic<std::uint32_t> units;  // this and the next two are written under the lock
  std::atomic<std::uint32_t> unpurged_units;
  std::atomic<std::uint32_t> usable_units;
  std::uint32_t cursor;                            // the next class for claim_unpurged()
  alignas(64) std::atomic<std::uint64_t> touched;  // by page of `classes`
  alignas(64) ClassPool classes[class_count];
};
constinit PartialPool pool{};

LockGuard guard() noexcept { return {pool.lock, counters_page->heap.pool_lock}; }

SlabList& list_of(const UnitLine* slab) noexcept {
  ClassPool& lists = pool.classes[slab->size_class];
  return has_flag(slab, is_purged) ? lists.purged : lists.unpurged;
}

// By other sizes: it becomes mixed, or returns its pages.
bool is_usable(const UnitLine* slab) noexcept {
  return !has_flag(slab, is_purged) || (can_mix(slab) && !settings.is_hardened);
}

// For leave_watched().
struct LeftSlab {
  UnitLine* line;

  ThreadCache* take_owner() const noexcept {
    return line->owner.exchange(nullptr, std::memory_order_acq_rel);
  }
  void return_owner(ThreadCache* owner) const noexcept {
    line->owner.store(owner, std::memory_order_release);
  }
  bool watch() const noexcept { return heap::watch(line, unlisted_count(line)); }
};

// False: the slab's last block was freed meanwhile.
bool insert(UnitLine* slab) noexcept {
  const LeftSlab left{slab};
  if (!leave_watched(left)) return false;
  set_flag(slab, is_pooled);
  // Writes first: a page that is read first costs two page faults.
  pool.classes[slab->size_class].slabs.fetch_add(1, std::memory_order_relaxed);
  const bool comes_first = has_flag(slab, is_purged) && can_mix(slab);
  comes_first ? list_of(slab).prepend(slab) : list_of(slab).append(slab);
  if (is_usable(slab)) pool.usable_units.fetch_add(slab->units, std::memory_order_relaxed);
  pool.units.fetch_add(slab->units, std::memory_order_relaxed);
  if (!has_flag(slab, is_purged)) pool.unpurged_units.fetch_add(slab->units, std::memory_order_relaxed);
  return true;
}

void remove(UnitLine* slab, ThreadCache* owner) noexcept {
  list_of(slab).remove(slab);
  if (is_usable(slab)) pool.usable_units.fetch_sub(slab->units, std::memory_order_relaxed);
  pool.units.fetch_sub(slab->units, std::memory_order_relaxed);
  if (!has_flag(slab, is_purged)) pool.unpurged_units.fetch_sub(slab->units, std::memory_order_relaxed);
  pool.classes[slab->size_class].slabs.fetch_sub(1, std::memory_order_relaxed);
  clear_flag(slab, is_pooled);
  clear_flag(slab, is_purged);
  slab->owner.store(owner, std::memory_order_release);
}

}  // namespace

bool pool_slab(UnitLine* slab) noexcept {
  note_waiting_memory();
  const LockGuard locked = guard();
  slab->stamp = current_tick();
  clear_flag(slab, is_purged);
  return insert(slab);
}

bool has_pooled_slab(std::uint32_t size_class) noexcept {
  static_assert(sizeof(pool.classes) / carve_bytes + 2 <= 64);
  std::atomic<std::uint32_t>& slabs = pool.classes[size_class].slabs;
  const std::uint64_t page = std::uint64_t{1} << reinterpret_cast<std::uintptr_t>(&slabs) / carve_bytes % 64;
  if ((pool.touched.load(std::memory_order_relaxed) & page) == 0) {
    // Writes although it adds 0: opening a slab then takes the page fault, instead of pooling it later.
    slabs.fetch_add(0, std::memory_order_relaxed);
    pool.touched.fetch_or(page, std::memory_order_relaxed);
  }
  return slabs.load(std::memory_order_relaxed) != 0;
}

UnitLine* claim_slab(std::uint32_t size_class, ThreadCache* owner) noexcept {
  const LockGuard locked = guard();
  const ClassPool& lists = pool.classes[size_class];
  const std::uint32_t unit = lists.unpurged.last != 0 ? lists.unpurged.last : lists.purged.last;
  if (unit == 0) return nullptr;
  UnitLine* slab = line_of(unit);
  remove(slab, owner);
  return slab;
}

bool claim_this_slab(UnitLine* slab) noexcept {
  const LockGuard locked = guard();
  if (slab->owner.load(std::memory_order_relaxed) != nullptr) return false;
  remove(slab, nullptr);
  return true;
}

UnitLine* claim_unpurged(std::uint16_t now, std::uint16_t least_age, ThreadCache* owner) noexcept {
  const LockGuard locked = guard();
  if (pool.unpurged_units.load(std::memory_order_relaxed) == 0) return nullptr;
  for (std::uint32_t i = 0; i < classes_per_look; ++i) {
    const std::uint32_t unit = pool.classes[pool.cursor].unpurged.first;
    if (unit != 0) {
      UnitLine* slab = line_of(unit);
      if (static_cast<std::uint16_t>(now - slab->stamp) >= least_age) {
        remove(slab, owner);
        return slab;
      }
    }
    pool.cursor = (pool.cursor + 1) % class_count;
  }
  return nullptr;
}

UnitLine* claim_usable(ThreadCache* owner) noexcept {
  const LockGuard locked = guard();
  for (std::uint32_t i = 0; i < classes_per_look && usable_bytes_of_pool() != 0; ++i) {
    const ClassPool& lists = pool.classes[pool.cursor];
    const std::uint32_t unit = lists.unpurged.first != 0 ? lists.unpurged.first : lists.purged.first;
    if (unit != 0 && is_usable(line_of(unit))) {
      UnitLine* slab = line_of(unit);
      remove(slab, owner);
      return slab;
    }
    pool.cursor = (pool.cursor + 1) % class_count;
  }
  return nullptr;
}

bool pool_purged(UnitLine* slab) noexcept {
  const LockGuard locked = guard();
  set_flag(slab, is_purged);
  return insert(slab);
}

bool has_unpurged_slabs() noexcept {
  const LockGuard locked = guard();
  return pool.unpurged_units.load(std::memory_order_relaxed) != 0;
}

std::size_t unpurged_bytes() noexcept {
  return std::size_t{pool.unpurged_units.load(std::memory_order_relaxed)} * unit_bytes;
}

std::size_t usable_bytes_of_pool() noexcept {
  return std::size_t{pool.usable_units.load(std::memory_order_relaxed)} * unit_bytes;
}

std::size_t pooled_bytes() noexcept {
  return std::size_t{pool.units.load(std::memory_order_relaxed)} * unit_bytes;
}

Lock& pool_lock() noexcept { return pool.lock; }

bool pool_is_valid() noexcept {
  const LockGuard locked = guard();
  for (std::uint32_t c = 0; c < class_count; ++c) {
    std::uint32_t count = 0;
    for (const SlabList* list : {&pool.classes[c].unpurged, &pool.classes[c].purged}) {
      for (std::uint32_t unit = list->first; unit != 0; unit = line_of(unit)->next) {
        const UnitLine* slab = line_of(unit);
        const bool is_purged_list = list == &pool.classes[c].purged;
        if (slab->kind != UnitKind::slab || slab->size_class != c || !has_flag(slab, is_pooled)) return false;
        if (has_flag(slab, is_purged) != is_purged_list || slab->owner.load() != nullptr) return false;
        ++count;
      }
    }
    if (count != pool.classes[c].slabs.load(std::memory_order_relaxed)) return false;
  }
  return true;
}

}  // namespace heapwright::heap
