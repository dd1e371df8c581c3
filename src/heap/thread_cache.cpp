// SPDX-License-Identifier: MIT
// length: refills, events and giving up keep the same queue and its flags right
#include "heap/thread_cache.hpp"

#include <algorithm>

#include "heap/counting.hpp"
#include "heap/partial_pool.hpp"
#include "heap/remote_free.hpp"

namespace heapwright::heap {

using counters::Reason;

namespace {

ClassSlot& slot_of(ThreadCache* cache, const UnitLine* slab) noexcept {
  return cache->slots[slab->size_class];
}

std::uintptr_t distance_of(const ThreadCache* cache, const UnitLine* slab) noexcept {
  return reinterpret_cast<std::uintptr_t>(slab) - reinterpret_cast<std::uintptr_t>(cache);
}

// Of the first slab of a queue, for a request of the class.
void make_current(ThreadCache* cache, UnitLine* slab, std::uint32_t size_class) noexcept {
  if (size_class > last_small_class) return;
  const std::size_t first = size_class == 1 ? 0 : step_of(block_bytes_of(size_class - 1)) + 1;
  const std::size_t last = step_of(block_bytes_of(size_class));
  const std::uintptr_t distance = distance_of(cache, slab);
  for (std::size_t step = first; step <= last; ++step) cache->current[step] = distance;
  ClassSlot& slot = slot_of(cache, slab);
  const auto least = static_cast<std::uint16_t>(std::max<std::size_t>(first, 1));
  if (slot.least_step == 0 || least < slot.least_step) slot.least_step = least;
}

// The slab is the first of its queue no more.
void clear_current(ThreadCache* cache, const UnitLine* slab) noexcept {
  ClassSlot& slot = slot_of(cache, slab);
  if (slot.least_step == 0) return;
  if (slab->size_class == 1) cache->current[0] = 0;
  const std::uintptr_t distance = distance_of(cache, slab);
  const std::size_t last = step_of(class_of_slab(slab).block_bytes);
  for (std::size_t step = slot.least_step; step <= last; ++step) {
    count_steps();
    if (cache->current[step] == distance) cache->current[step] = 0;
  }
  slot.least_step = 0;
}

// Brings the counters of the class up to date with the slab, of which `outside`
// blocks are handed out or in the remote list.
void count_blocks(ThreadCache* cache, UnitLine* slab, std::uint32_t outside) noexcept {
  ClassSlot& slot = slot_of(cache, slab);
  counters::add_owned(slot.taken, slab->taken);
  counters::add_owned(slot.returned, slab->taken + slab->counted - outside);
  slab->taken = 0;
  slab->counted = static_cast<std::uint16_t>(outside);
}

void delist(ThreadCache* cache, UnitLine* slab) noexcept {
  ClassSlot& slot = slot_of(cache, slab);
  count_blocks(cache, slab, unlisted_count(slab));
  if (slot.first == unit_of(slab)) clear_current(cache, slab);
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
  count_blocks(cache, slab, 0);
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

// What others freed, or else blocks of fresh memory. The slab's own list is empty.
Chain find_blocks(ThreadCache* cache, UnitLine* slab) noexcept {
  if (remote_of(slab).has_blocks()) {
    cache->count(Reason::refill_remote);
    return take_remote(slab);
  }
  unkeep(cache, slab);
  const bool is_first_touch = has_flag(slab, is_zeroed) && slab->dropped == 0 && !carves_touched_page(slab);
  if (is_first_touch) {
    const std::uint64_t pages = (class_of_slab(slab).block_bytes + carve_bytes - 1) / carve_bytes;
    counters::add_owned(cache->first_touch_pages, pages);
  }
  cache->count(Reason::refill_carved);
  return carve(slab);
}

// The slab is listed and has a block.
Block* take_from(ThreadCache* cache, UnitLine* slab) noexcept {
  Block* block = slab->free_list;
  if (block != nullptr) {
    pop(slab, block);
    cache->count(Reason::refill_local);
  } else {
    Chain chain = find_blocks(cache, slab);
    block = chain.first;
    // A block that is alone may begin an untouched page, and has no link.
    if (--chain.count != 0) relist(slab, {block->next, chain.count});
    ++slab->taken;
  }
  clear_flag(slab, is_candidate);
  schedule_event(slab);
  return block;
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

// The first slab of a queue has nothing left. It may be back in the queue at
// once, if others freed blocks meanwhile.
void retire(ThreadCache* cache, UnitLine* slab) noexcept {
  unkeep(cache, slab);
  delist(cache, slab);
  await_blocks(cache, slab);
  schedule_event(slab);
}

// The first slab of the queue, with a block. Null: no memory.
UnitLine* first_slab(ThreadCache* cache, std::uint32_t size_class) noexcept {
  const ClassSlot& slot = cache->slots[size_class];
  if (slot.first == 0) return fetch_slab(cache, size_class);
  UnitLine* slab = line_of(slot.first);
  if (has_blocks(slab)) return slab;
  retire(cache, slab);
  return slot.first != 0 ? line_of(slot.first) : fetch_slab(cache, size_class);
}

Block* take_of(ThreadCache* cache, std::uint32_t size_class, std::uint32_t wanted_class) noexcept {
  count_steps();
  counters::add_owned(cache->slots[size_class].refills, 1);
  if (cache->pending != 0 || cache->notified.load(std::memory_order_relaxed) != 0) collect_notices(cache, 4);
  UnitLine* slab = first_slab(cache, size_class);
  if (slab == nullptr) return nullptr;
  Block* block = take_from(cache, slab);
  make_current(cache, slab, wanted_class);
  return block;
}

}  // namespace

void* take_block(ThreadCache* cache, std::uint32_t size_class) noexcept {
  if (size_class == 0) size_class = 1;
  ClassSlot& slot = cache->slots[size_class];
  const std::uint32_t coarse = size_classes[size_class].coarse;
  const std::uint32_t serving = slot.has_slabs ? size_class : coarse;
  const std::uint32_t first = cache->slots[serving].first;
  if (first != 0 && line_of(first)->free_list != nullptr) {
    make_current(cache, line_of(first), size_class);
    return pop(line_of(first), line_of(first)->free_list);
  }
  Block* block = take_of(cache, serving, size_class);
  if (serving == size_class) return block;
  cache->count(Reason::refill_cold);
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

bool give_up_class(ThreadCache* cache, std::uint32_t size_class) noexcept {
  bool did_work = false;
  ClassSlot& slot = cache->slots[size_class];
  std::uint32_t unit = slot.first;
  while (unit != 0) {
    UnitLine* slab = line_of(unit);
    unit = slab->next;
    did_work = true;
    if (!has_blocks(slab)) retire(cache, slab);
    if (!has_flag(slab, is_listed)) continue;
    unkeep(cache, slab);
    if (is_empty(slab) && unwatch(slab)) {
      release(cache, slab);
    } else {
      give_to_pool(cache, slab);
    }
  }
  return did_work;
}

namespace {

bool current_is_valid(const ThreadCache* cache) noexcept {
  for (std::size_t step = 0; step < step_count; ++step) {
    const UnitLine* slab = current_slab(cache, step);
    if (slab == &cache->nothing) continue;
    const std::uint32_t size_class = std::max(class_of(step * step_bytes), 1U);
    if (slab->size_class != size_class && slab->size_class != size_classes[size_class].coarse) return false;
    if (cache->slots[slab->size_class].first != unit_of(slab)) return false;
  }
  return true;
}

}  // namespace

bool cache_is_valid(const ThreadCache* cache) noexcept {
  std::uint64_t kept_bytes = 0;
  for (std::uint32_t c = 0; c < class_count; ++c) {
    std::uint32_t previous = 0;
    for (std::uint32_t unit = cache->slots[c].first; unit != 0; unit = line_of(unit)->next) {
      const UnitLine* slab = line_of(unit);
      if (slab->owner.load() != cache || slab->size_class != c || !has_flag(slab, is_listed)) return false;
      if (slab->prev != previous || !slab_is_valid(slab)) return false;
      if (previous != 0 && !has_blocks(slab)) return false;
      if (has_flag(slab, is_kept)) kept_bytes += used_bytes(slab);
      previous = unit;
    }
    if (cache->slots[c].last != previous) return false;
  }
  return kept_bytes == cache->kept_bytes && current_is_valid(cache);
}

}  // namespace heapwright::heap
