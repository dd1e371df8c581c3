// SPDX-License-Identifier: MIT
#include "heap/threads/take_over.hpp"

#include "heap/base/counting.hpp"
#include "heap/base/own_thread.hpp"
#include "heap/slabs/slab.hpp"
#include "heap/threads/caches.hpp"
#include "heap/threads/slab_events.hpp"
#include "heap/threads/slab_queue.hpp"

namespace heapwright::heap {

namespace {

constexpr std::uint32_t most_notices = 4;

bool may_have_returned(const ThreadCache* cache) noexcept {
  return cache->has_returned.load(std::memory_order_acquire) != 0 || cache->is_looked_through;
}

// Slabs that were not yet fully free are checked again when another slab is reported. The report is cleared
// before the checks, and each of these steps writes: a concurrent report is either seen here, or its sender
// sees that it must report again (tests/heap/take_over_model.cpp).
UnitLine* next_to_look_at(ThreadCache* cache) noexcept {
  if (cache->pending == 0) cache->pending = cache->notified.exchange(0, std::memory_order_acq_rel);
  if (cache->pending == 0 && cache->has_returned.exchange(0, std::memory_order_acq_rel) != 0) {
    cache->is_looked_through = true;
    cache->pending = std::uint32_t{cache->passed};
    cache->passed = 0;
    if (cache->pending == 0) cache->pending = cache->notified.exchange(0, std::memory_order_acq_rel);
  }
  if (cache->pending == 0) cache->is_looked_through = false;
  return cache->pending != 0 ? take_notice(cache) : nullptr;
}

bool is_returned(ThreadCache* cache, const UnitLine* slab) noexcept {
  return remote_of(slab).count() == capacity_of_slab(slab) && slot_of(cache, slab).first != unit_of(slab);
}

void take_out(ThreadCache* cache, UnitLine* slab) noexcept {
  clear_flag(slab, is_watched);
  clear_flag(slab, is_candidate);
  leave_class(cache, slab);
  count_blocks(cache, slab, 0);
  // Under the lists: the cache may still have the slab as a candidate, and checks its owner.
  slab->owner.store(nullptr, std::memory_order_relaxed);
}

bool is_report_due(const ThreadCache* cache, std::uint16_t now, std::uint16_t least_age) noexcept {
  const std::uint32_t noticed = cache->has_returned.load(std::memory_order_relaxed);
  if (noticed == 0) return cache->is_looked_through;
  return static_cast<std::uint16_t>(now - (noticed - 1)) >= least_age;
}

// No notices: there were none, or another thread is handling them.
struct Taken {
  std::uint32_t notices;
  std::uint32_t units;
};
Taken take_over_from(ThreadCache* cache) noexcept {
  UnitLine* returned[most_notices];
  std::uint32_t count = 0;
  Taken taken{0, 0};
  if (!cache->lists.try_lock()) return taken;
  for (; taken.notices < most_notices; ++taken.notices) {
    count_steps();
    UnitLine* slab = next_to_look_at(cache);
    if (slab == nullptr) break;
    if (is_returned(cache, slab)) {
      take_out(cache, slab);
      returned[count++] = slab;
    } else {
      slab->second_next = cache->passed;
      cache->passed = unit_of(slab);
    }
  }
  cache->lists.unlock();
  for (std::uint32_t i = 0; i < count; ++i) {
    count_reason(counters::Reason::slab_emptied);
    taken.units += returned[i]->units;
    close_slab(returned[i]);
  }
  return taken;
}

void take_units_from(ThreadCache* cache, std::uint32_t units) noexcept {
  constexpr int most_turns = 8;
  Taken taken{1, 0};
  std::uint32_t sum = 0;
  for (int turn = 0; turn < most_turns && taken.notices != 0 && sum < units; ++turn) {
    taken = take_over_from(cache);
    sum += taken.units;
  }
}

}  // namespace

void take_over_returned(ThreadCache* own, std::uint32_t units) noexcept {
  if (own->is_private) return;
  ThreadCache* const watched = own->watched;
  if (watched != nullptr && may_have_returned(watched)) {
    const std::uint32_t visits = watched->visits;
    if (visits == own->watched_visits) {
      take_units_from(watched, units);
      return;
    }
    const bool is_first_look = own->watched_visits == 0;
    own->watched_visits = visits;
    if (is_first_look) return;
  }
  ThreadCache* next = next_cache(watched);
  if (next == own) next = next_cache(own);
  own->watched = next == own ? nullptr : next;
  own->watched_visits = 0;
}

bool take_over_asleep(std::uint16_t now, std::uint16_t least_age) noexcept {
  constexpr int most_looked_at = 64;
  static constinit ThreadCache* cache = nullptr;  // under the maintenance lock
  if (cache == nullptr) cache = next_cache(nullptr);
  const ThreadCache* const first = cache;
  for (int i = 0; i < most_looked_at && cache != nullptr; ++i) {
    count_steps();
    if (is_report_due(cache, now, least_age) && take_over_from(cache).notices != 0) return true;
    cache = next_cache(cache);
    if (cache == first) break;
  }
  return false;
}

bool has_returned_slabs() noexcept {
  const auto look = [](const ThreadCache& cache, void* into) {
    if (may_have_returned(&cache)) *static_cast<bool*>(into) = true;
  };
  bool is_there = false;
  for_each_cache(look, &is_there);
  return is_there;
}

}  // namespace heapwright::heap
