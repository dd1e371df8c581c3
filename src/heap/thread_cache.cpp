// SPDX-License-Identifier: MIT
// length: refills, events and giving up keep the same queue and its flags right
#include "heap/thread_cache.hpp"

#include <utility>

#include "heap/counting.hpp"
#include "heap/partial_pool.hpp"
#include "heap/remote_free.hpp"

namespace heapwright::heap {

using counters::Reason;

namespace {

ClassSlot& slot_of(ThreadCache* cache, const UnitLine* slab) noexcept {
  return cache->slots[slab->size_class];
}

void delist(ThreadCache* cache, UnitLine* slab) noexcept {
  ClassSlot& slot = slot_of(cache, slab);
  (slab->next != 0 ? line_of(slab->next)->prev : slot.last) = slab->prev;
  (slab->prev != 0 ? line_of(slab->prev)->next : slot.first) = slab->next;
  clear_flag(slab, is_listed);
}

std::uint32_t used_bytes(const UnitLine* slab) noexcept {
  return slab->fresh * class_of_slab(slab).block_bytes;
}

void unkeep(ThreadCache* cache, UnitLine* slab) noexcept {
  if (!has_flag(slab, is_kept)) return;
  clear_flag(slab, is_kept);
  cache->kept_bytes -= used_bytes(slab);
}

// The slab leaves the cache for the page source.
void release(ThreadCache* cache, UnitLine* slab) noexcept {
  unkeep(cache, slab);
  if (has_flag(slab, is_listed)) delist(cache, slab);
  counters::add_owned(slot_of(cache, slab).returned, slab->carved);
  cache->count(Reason::slab_emptied);
  close_slab(slab);
}

// The slab leaves the cache for the pool, unless a notice about it is under way.
void give_to_pool(ThreadCache* cache, UnitLine* slab) noexcept {
  if (cache->is_private || !unwatch(slab)) return schedule_event(slab);
  if (has_flag(slab, is_listed)) delist(cache, slab);
  unkeep(cache, slab);
  clear_flag(slab, is_candidate);
  cache->count(Reason::slab_pooled);
  if (!pool_slab(slab)) release(cache, slab);
}

bool is_only_one(const ThreadCache* cache, const UnitLine* slab) noexcept {
  const ClassSlot& slot = cache->slots[slab->size_class];
  return slot.first == slot.last && (slot.first == 0 || slot.first == unit_of(slab));
}

void enlist(ThreadCache* cache, UnitLine* slab) noexcept {
  ClassSlot& slot = slot_of(cache, slab);
  const std::uint32_t unit = unit_of(slab);
  if (slot.first != 0 && slot.first == slot.last && has_flag(line_of(slot.first), is_kept)) {
    UnitLine* kept = line_of(slot.first);
    unkeep(cache, kept);
    schedule_event(kept);
  }
  slab->next = 0;
  slab->prev = slot.last;
  (slot.last != 0 ? line_of(slot.last)->next : slot.first) = unit;
  slot.last = unit;
  set_flag(slab, is_listed);
}

// Keeps a slab that is the only one of its class from being given up and
// fetched again by each pair of calls. False: too much is kept already.
bool keep(ThreadCache* cache, UnitLine* slab) noexcept {
  if (has_flag(slab, is_kept)) return true;
  if (!is_only_one(cache, slab) || cache->kept_bytes + used_bytes(slab) > most_kept_bytes) return false;
  cache->kept_bytes += used_bytes(slab);
  if (!has_flag(slab, is_listed)) enlist(cache, slab);
  set_flag(slab, is_kept);
  return true;
}

void on_empty(ThreadCache* cache, UnitLine* slab) noexcept {
  if (keep(cache, slab)) return schedule_event(slab);
  if (unwatch(slab)) return release(cache, slab);
  schedule_event(slab);  // the notice under way will come back to this
}

// Sparse slabs wait in a short ring, for most fill or empty soon; the one that
// falls out of it goes to the pool.
void on_sparse(ThreadCache* cache, UnitLine* slab) noexcept {
  if (has_flag(slab, is_candidate) || keep(cache, slab)) return schedule_event(slab);
  if (is_only_one(cache, slab)) return give_to_pool(cache, slab);
  set_flag(slab, is_candidate);
  schedule_event(slab);
  std::uint32_t& place = cache->candidates[cache->next_candidate++ % candidate_count];
  const std::uint32_t oldest = place;
  place = unit_of(slab);
  if (oldest == 0) return;
  UnitLine* old = line_of(oldest);
  const bool is_ours = old->kind == UnitKind::slab && old->owner.load(std::memory_order_relaxed) == cache;
  if (!is_ours || old == slab || !has_flag(old, is_candidate)) return;
  clear_flag(old, is_candidate);
  if (is_sparse(old)) give_to_pool(cache, old);
}

bool has_blocks(const UnitLine* slab) noexcept {
  return slab->free_list != nullptr || can_carve(slab) || remote_of(slab).has_blocks();
}

// All of the slab is handed out: told about when an eighth is back, or by the
// notice that is under way.
void await_blocks(ThreadCache* cache, UnitLine* slab) noexcept {
  if (unwatch(slab) && !watch(slab, slab->carved / 8 + 1)) enlist(cache, slab);
}

void consider(ThreadCache* cache, UnitLine* slab) noexcept {
  if (is_empty(slab)) return on_empty(cache, slab);
  if (!has_flag(slab, is_listed) && !has_blocks(slab)) {
    // Taken again before the notice about it arrived.
    await_blocks(cache, slab);
    return schedule_event(slab);
  }
  if (!has_flag(slab, is_listed) && unwatch(slab)) {
    enlist(cache, slab);
    watch(slab, unlisted_count(slab));
  }
  if (has_flag(slab, is_listed) && is_sparse(slab)) return on_sparse(cache, slab);
  schedule_event(slab);
}

// Blocks of a slab that has some. The slab leaves the queue with the last.
Chain take_blocks(ThreadCache* cache, UnitLine* slab) noexcept {
  constexpr std::uint32_t few = 4;
  const std::uint32_t listed = listed_count(slab);
  Chain taken{nullptr, 0};
  if (listed != 0 && (listed >= few || !carves_touched_page(slab))) {
    taken = take_listed(slab);
    cache->count(Reason::refill_local);
  } else if (listed == 0 && remote_of(slab).has_blocks()) {
    taken = take_remote(slab);
    cache->count(Reason::refill_remote);
  } else if (can_carve(slab)) {
    unkeep(cache, slab);
    const bool is_first_touch = has_flag(slab, is_zeroed) && slab->dropped == 0 && !carves_touched_page(slab);
    if (is_first_touch) {
      const std::uint64_t pages = (class_of_slab(slab).block_bytes + carve_bytes - 1) / carve_bytes;
      counters::add_owned(cache->first_touch_pages, pages);
    }
    const Chain carved = carve(slab);
    counters::add_owned(slot_of(cache, slab).taken, carved.count);
    cache->count(Reason::refill_carved);
    return carved;
  }
  ClassSlot& slot = slot_of(cache, slab);
  counters::add_owned(slot.taken, taken.count);
  counters::add_owned(slot.returned, taken.count);
  return taken;
}

// The slab is listed, so it has a block: it is delisted with the last one.
Block* take_from(ThreadCache* cache, UnitLine* slab) noexcept {
  const Chain taken = take_blocks(cache, slab);
  clear_flag(slab, is_candidate);
  if (!has_blocks(slab)) {
    unkeep(cache, slab);
    delist(cache, slab);
    await_blocks(cache, slab);
  }
  schedule_event(slab);
  if (taken.count > 1) cache->ready[slab->size_class] = taken.first->next;
  return taken.first;
}

UnitLine* fetch_slab(ThreadCache* cache, std::uint32_t size_class) noexcept {
  UnitLine* slab = cache->is_private ? nullptr : claim_slab(size_class, cache);
  if (slab != nullptr) {
    cache->count(Reason::slab_claimed);
  } else {
    ClassSlot& slot = cache->slots[size_class];
    slab = open_slab(size_class, slot.is_grown ? size_classes[size_class].units : 0, cache);
    if (slab == nullptr) return nullptr;
    slot.is_grown = true;
    ++slot.opened;
    cache->count(Reason::slab_opened);
  }
  enlist(cache, slab);
  return slab;
}

void* take_block(ThreadCache* cache, std::uint32_t size_class) noexcept {
  count_steps();
  if (Block* block = cache->ready[size_class]) {
    cache->ready[size_class] = block->next;
    return block;
  }
  ClassSlot& slot = cache->slots[size_class];
  counters::add_owned(slot.refills, 1);
  if (cache->pending != 0 || cache->notified.load(std::memory_order_relaxed) != 0) collect_notices(cache, 4);
  UnitLine* slab = slot.first != 0 ? line_of(slot.first) : fetch_slab(cache, size_class);
  return slab == nullptr ? nullptr : take_from(cache, slab);
}

}  // namespace

void* refill(ThreadCache* cache, std::uint32_t size_class) noexcept {
  if (size_class == 0) size_class = 1;
  ClassSlot& slot = cache->slots[size_class];
  const std::uint32_t coarse = size_classes[size_class].coarse;
  if (slot.has_slabs || coarse == size_class) return take_block(cache, size_class);
  cache->count(Reason::refill_cold);
  void* block = take_block(cache, coarse);
  // The rest of the batch is ready for this class now.
  std::swap(cache->ready[size_class], cache->ready[coarse]);
  if (cache->slots[coarse].opened < openings_per_promotion) return block;
  cache->slots[coarse].opened = 0;
  slot.has_slabs = true;
  return block;
}

void on_event(ThreadCache* cache, UnitLine* slab) noexcept {
  const StepScope scope;
  consider(cache, slab);
}

bool collect_notices(ThreadCache* cache, std::uint32_t most) noexcept {
  for (std::uint32_t i = 0; i < most; ++i) {
    count_steps();
    if (cache->pending == 0) cache->pending = cache->notified.exchange(0, std::memory_order_acquire);
    if (cache->pending == 0) return false;
    UnitLine* slab = line_of(cache->pending);
    cache->pending = slab->second_next;
    clear_flag(slab, is_watched);
    consider(cache, slab);
  }
  return true;
}

void push_notice(ThreadCache* cache, UnitLine* slab) noexcept {
  std::uint32_t first = cache->notified.load(std::memory_order_relaxed);
  do {
    slab->second_next = first;
  } while (!cache->notified.compare_exchange_weak(first, unit_of(slab), std::memory_order_release,
                                                  std::memory_order_relaxed));
}

namespace {

void return_ready(ThreadCache* cache, std::uint32_t size_class) noexcept {
  while (Block* block = cache->ready[size_class]) {
    cache->ready[size_class] = block->next;
    UnitLine* slab = line_at(block);
    if (slab->kind == UnitKind::slab_rest) slab -= slab->units;
    // The slab may have gone to the pool while its blocks were ready here.
    if (slab->owner.load(std::memory_order_relaxed) == cache) {
      free_listed(cache, slab, block);
    } else {
      free_remote(slab, block);
    }
  }
}

}  // namespace

bool give_up_class(ThreadCache* cache, std::uint32_t size_class) noexcept {
  bool did_work = cache->ready[size_class] != nullptr;
  return_ready(cache, size_class);
  ClassSlot& slot = cache->slots[size_class];
  std::uint32_t unit = slot.first;
  while (unit != 0) {
    UnitLine* slab = line_of(unit);
    unit = slab->next;
    did_work = true;
    unkeep(cache, slab);
    if (is_empty(slab) && unwatch(slab)) {
      release(cache, slab);
    } else {
      give_to_pool(cache, slab);
    }
  }
  return did_work;
}

bool cache_is_valid(const ThreadCache* cache) noexcept {
  std::uint64_t kept_bytes = 0;
  for (std::uint32_t c = 0; c < class_count; ++c) {
    std::uint32_t previous = 0;
    for (std::uint32_t unit = cache->slots[c].first; unit != 0; unit = line_of(unit)->next) {
      const UnitLine* slab = line_of(unit);
      if (slab->owner.load() != cache || slab->size_class != c || !has_flag(slab, is_listed)) return false;
      if (slab->prev != previous || !slab_is_valid(slab)) return false;
      if (has_flag(slab, is_kept)) kept_bytes += used_bytes(slab);
      previous = unit;
    }
    if (cache->slots[c].last != previous) return false;
  }
  return kept_bytes == cache->kept_bytes;
}

}  // namespace heapwright::heap
