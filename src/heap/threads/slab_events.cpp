// SPDX-License-Identifier: MIT
#include "heap/threads/slab_events.hpp"

#include <bit>
#include <iterator>

#include "heap/base/counting.hpp"
#include "heap/slabs/misuse.hpp"
#include "heap/slabs/partial_pool.hpp"
#include "heap/threads/detached_blocks.hpp"
#include "heap/threads/slab_queue.hpp"

namespace heapwright::heap {

using counters::Reason;

namespace {

void close(ThreadCache* cache, UnitLine* slab) noexcept {
  count_blocks(cache, slab, 0);
  cache->count(Reason::slab_emptied);
  close_slab(slab);
}

// Returns the slab to the page source.
void release(ThreadCache* cache, UnitLine* slab) noexcept {
  unkeep(cache, slab);
  leave_class(cache, slab);
  close(cache, slab);
}

// Moves the slab to the pool. False: its notice is under way, or it has three lists of blocks.
bool give_to_pool(ThreadCache* cache, UnitLine* slab) noexcept {
  if (cache->is_private || !attach_blocks(cache, slab) || !unwatch(slab)) {
    schedule_event(slab, detached_count(cache, slab));
    return false;
  }
  leave_class(cache, slab);
  unkeep(cache, slab);
  clear_flag(slab, is_candidate);
  cache->count(Reason::slab_pooled);
  if (!pool_slab(slab)) close(cache, slab);
  return true;
}

void on_empty(ThreadCache* cache, UnitLine* slab) noexcept {
  if (!keep(cache, slab) && unwatch(slab)) return release(cache, slab);
  schedule_event(slab, detached_count(cache, slab));  // retried when the notice arrives
}

// Sparse slabs wait in a short ring, because most fill up or become empty soon; the one
// that drops out goes to the pool.
void on_sparse(ThreadCache* cache, UnitLine* slab) noexcept {
  if (has_flag(slab, is_candidate) || keep(cache, slab)) {
    return schedule_event(slab, detached_count(cache, slab));
  }
  if (is_only_one(cache, slab)) return static_cast<void>(give_to_pool(cache, slab));
  set_flag(slab, is_candidate);
  schedule_event(slab, detached_count(cache, slab));
  std::uint32_t& place = cache->candidates[cache->next_candidate++ % candidate_count];
  const std::uint32_t oldest = place;
  place = unit_of(slab);
  if (oldest == 0) return;
  UnitLine* old = line_of(oldest);
  const bool is_ours = old->kind == UnitKind::slab && old->owner.load(std::memory_order_relaxed) == cache;
  if (!is_ours || old == slab || !has_flag(old, is_candidate)) return;
  clear_flag(old, is_candidate);
  if (is_sparse(old, detached_count(cache, old))) give_to_pool(cache, old);
}

// All of the slab is allocated: requests a notice for when an eighth is free, unless one
// is under way.
void await_blocks(ThreadCache* cache, UnitLine* slab) noexcept {
  if (rewatch(slab, slab->carved / 8 + 1) == Watch::reached) enlist(cache, slab);
}

void consider(ThreadCache* cache, UnitLine* slab) noexcept {
  const std::uint32_t detached = detached_count(cache, slab);
  if (is_empty(slab, detached)) return on_empty(cache, slab);
  if (!has_flag(slab, is_listed) && !has_blocks(slab)) {
    // Allocated again before its notice arrived.
    await_blocks(cache, slab);
    return schedule_event(slab);
  }
  if (!has_flag(slab, is_listed) && watch_rest(slab) != Watch::notified) enlist(cache, slab);
  if (has_flag(slab, is_listed) && is_sparse(slab, detached)) return on_sparse(cache, slab);
  schedule_event(slab, detached);
}

}  // namespace

Watch watch_rest(UnitLine* slab) noexcept {
  const RemoteWord word = remote_of(slab);
  if (has_flag(slab, is_watched) && word.is_armed() && word.count() == 0) return Watch::armed;
  return rewatch(slab, unlisted_count(slab));
}

void retire(ThreadCache* cache, UnitLine* slab) noexcept {
  check_nothing_listed(slab);
  unkeep(cache, slab);
  leave_queue(cache, slab);
  join_ring(cache, slab);
  await_blocks(cache, slab);
  schedule_event(slab);
}

void on_event(ThreadCache* cache, UnitLine* slab) noexcept {
  const StepScope scope;
  check_last_free(slab);
  const OwnLists lists(cache);
  consider(cache, slab);
}

UnitLine* take_notice(ThreadCache* cache) noexcept {
  if (cache->pending == 0) cache->pending = cache->notified.exchange(0, std::memory_order_acq_rel);
  if (cache->pending == 0) {
    cache->pending = std::uint32_t{cache->passed};
    cache->passed = 0;
  }
  if (cache->pending == 0) return nullptr;
  UnitLine* slab = line_of(cache->pending);
  cache->pending = slab->second_next;
  return slab;
}

bool collect_notices(ThreadCache* cache, std::uint32_t most) noexcept {
  const OwnLists lists(cache);
  for (std::uint32_t i = 0; i < most; ++i) {
    count_steps();
    UnitLine* slab = take_notice(cache);
    if (slab == nullptr) return false;
    clear_flag(slab, is_watched);
    if (has_flag(slab, is_listed)) watch_rest(slab);
    consider(cache, slab);
  }
  return true;
}

bool give_up(ThreadCache* cache, UnitLine* slab) noexcept {
  const std::uint32_t detached = detached_count(cache, slab);
  if (!has_blocks(slab) && detached == 0) {
    retire(cache, slab);
    return true;
  }
  unkeep(cache, slab);
  if (is_empty(slab, detached) && unwatch(slab)) {
    release(cache, slab);
    return true;
  }
  if (give_to_pool(cache, slab)) return true;
  return rewatch(slab, unlisted_count(slab) - detached_count(cache, slab)) == Watch::reached;
}

bool give_up_slab(ThreadCache* cache) noexcept {
  const OwnLists lists(cache);
  for (std::uint32_t word = 0; word < std::size(cache->with_slabs); ++word) {
    for (std::uint64_t bits = cache->with_slabs[word]; bits != 0; bits &= bits - 1) {
      count_steps();
      const std::uint32_t unit =
          cache->slots[word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits))].first;
      if (unit == 0) continue;
      if (give_up(cache, line_of(unit))) return true;
    }
  }
  return false;
}

}  // namespace heapwright::heap
