// SPDX-License-Identifier: MIT
#include "heap/threads/refill.hpp"

#include "heap/base/counting.hpp"
#include "heap/base/settings.hpp"
#include "heap/base/system_pages.hpp"
#include "heap/pages/empty_blocks.hpp"
#include "heap/pages/guards.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/slabs/misuse.hpp"
#include "heap/slabs/mixed_slab.hpp"
#include "heap/slabs/partial_pool.hpp"
#include "heap/slabs/slab.hpp"
#include "heap/threads/borrowed_blocks.hpp"
#include "heap/threads/caches.hpp"
#include "heap/threads/detached_blocks.hpp"
#include "heap/threads/left_behind.hpp"
#include "heap/threads/lenders.hpp"
#include "heap/threads/promotion.hpp"
#include "heap/threads/remote_free.hpp"
#include "heap/threads/slab_events.hpp"
#include "heap/threads/slab_queue.hpp"
#include "heap/threads/take_over.hpp"

namespace heapwright::heap {

using counters::Reason;

namespace {

// Carves blocks from fresh memory.
Chain make_blocks(ThreadCache* cache, UnitLine* slab) noexcept {
  unkeep(cache, slab);
  const bool is_first_touch = has_flag(slab, is_zeroed) && slab->dropped == 0 && !carves_touched_page(slab);
  if (is_first_touch) {
    const std::uint64_t pages = (class_of_slab(slab).block_bytes + carve_bytes - 1) / carve_bytes;
    counters::add_owned(cache->first_touch_pages, pages);
  }
  cache->count(Reason::refill_carved);
  return carve(slab);
}

// Takes all blocks that others freed: returns the first and keeps the rest for later
// calls. The slab is the first of its queue.
Block* take_freed_by_others(ThreadCache* cache, UnitLine* slab) noexcept {
  cache->count(Reason::refill_remote);
  const Chain chain = take_remote(slab);
  BlockList* list = chain.count == 1 ? nullptr : open_detached(cache, slab);
  if (list == nullptr) {
    relist(slab, chain);
    return pop(slab, chain.first);
  }
  list->free_list = chain.first;
  list->set_countdown(0 - chain.count);
  return pop(list, chain.first);
}

Block* take_fresh(ThreadCache* cache, UnitLine* slab) noexcept {
  const Chain chain = make_blocks(cache, slab);
  if (chain.count > 1) relist(slab, {chain.first->next(), chain.count - 1});
  // A single block may begin an untouched page, and has no link. In used memory it may have one of an earlier
  // slab, so that its free would be taken for a second one.
  if (chain.count > 1 || !has_flag(slab, is_zeroed)) chain.first->end_list();
  slab->add_taken(1);
  return chain.first;
}

// The slab is the first of its queue and has a block.
Block* take_first(ThreadCache* cache, UnitLine* slab) noexcept {
  BlockList* list = ready_list(cache, slab);
  Block* block = list->free_list;
  clear_flag(slab, is_candidate);
  if (block != nullptr) {
    if (list == slab) {
      check_list(slab, {block, listed_count(slab)});
    } else {
      require_listed(slab, block);
    }
    pop(list, block);
    cache->count(Reason::refill_local);
    // Keeps an event that is due before the slab is exhausted.
    if (list == slab && slab->rest > 0) return block;
  } else {
    check_nothing_listed(slab);
    block = remote_of(slab).has_blocks() ? take_freed_by_others(cache, slab) : take_fresh(cache, slab);
  }
  schedule_event(slab, detached_count(cache, slab));
  return block;
}

Run find_run(ThreadCache* cache, std::uint32_t units) noexcept {
  if (!cache->is_private) return units == 1 ? allocate_unit(&cache->lot) : allocate_run(units);
  SpareRun& spare = cache->spare;
  Run run = take_run(units);
  if (run.unit == 0 && spare.units == units) {
    run = spare.run;
    spare.run = {};
    spare.units = 0;
  }
  if (run.unit == 0) spare.lacking_units = units;
  return run;
}

// Under the cache's `lists`.
void add_slab(ThreadCache* cache, UnitLine* slab, Reason reason) noexcept {
  cache->count(reason);
  hold_units(cache, slab->size_class, slab->units);
  join_queue(cache, slab);
}

// Claims a slab of the pool. Null: it has none of the class.
UnitLine* claim_for(ThreadCache* cache, std::uint32_t size_class) noexcept {
  if (cache->is_private || !has_pooled_slab(size_class)) return nullptr;
  // Under the lists for both steps: from the claim on, others send its notices to this cache.
  const OwnLists lists(cache);
  UnitLine* slab = claim_slab(size_class, cache);
  if (slab == nullptr) return nullptr;
  add_slab(cache, slab, Reason::slab_claimed);
  schedule_event(slab);
  return slab;
}

// Opens a slab. Null: no memory.
UnitLine* open_for(ThreadCache* cache, std::uint32_t size_class) noexcept {
  const bool is_first = !has_slabs(cache, size_class);
  const bool is_short = is_first || (is_mixing() && block_bytes_of(size_class) <= small_limit_bytes);
  const std::uint32_t units = is_short ? first_slab_units : size_classes[size_class].units;
  const bool has_guard = settings.is_hardened && may_guard_run();
  Run run = is_first && !has_guard && !cache->is_private ? allocate_first_unit(&cache->lot, size_class)
                                                         : find_run(cache, units + (has_guard ? 1 : 0));
  if (run.unit == 0) return nullptr;
  if (has_guard) {
    guarded_runs.fetch_add(1, std::memory_order_relaxed);
    guard_unit(run.unit++);
  }
  if (settings.is_hardened && !run.is_zeroed) {
    drop_pages(memory_of(run.unit), units * unit_bytes);
    run.is_zeroed = true;
  }
  UnitLine* slab = open_slab(run, size_class, units, cache);
  if (has_guard) set_flag(slab, is_guarded);
  const OwnLists lists(cache);
  add_slab(cache, slab, Reason::slab_opened);
  return slab;
}

// Before a slab comes from elsewhere: tries the slabs that have waited longest and have some
// free blocks, but too few for an event. Null: none. Under the cache's `lists`.
UnitLine* find_waiting(ThreadCache* cache, std::uint32_t size_class) noexcept {
  constexpr int most_looked_at = 2;
  ClassSlot& slot = cache->slots[size_class];
  for (int i = 0; i < most_looked_at && slot.waiting != 0; ++i) {
    count_steps();
    UnitLine* slab = line_of(slot.waiting);
    const std::uint32_t back = listed_count(slab) + remote_of(slab).count();
    if (back > slab->carved / 16 && watch_rest(slab) != Watch::notified) {
      enlist(cache, slab);
      schedule_event(slab);
      return slab;
    }
    slot.waiting = slab->next;
  }
  return nullptr;
}

// Whether the slab has only fresh memory to carve: other slabs are used first.
bool is_to_be_carved(ThreadCache* cache, UnitLine* slab) noexcept {
  return ready_list(cache, slab)->free_list == nullptr && !remote_of(slab).has_blocks();
}

// The first slab of the queue, with a block. Null: there is none.
UnitLine* first_slab(ThreadCache* cache, std::uint32_t size_class) noexcept {
  const ClassSlot& slot = cache->slots[size_class];
  UnitLine* slab = slot.first != 0 ? line_of(slot.first) : nullptr;
  if (slab != nullptr) {
    const bool is_only = slot.first == slot.last;
    if (!is_to_be_carved(cache, slab) || (is_only && can_carve(slab))) return slab;
  }
  const OwnLists lists(cache);
  if (slab != nullptr && !has_blocks(slab)) {
    retire(cache, slab);
  } else if (slot.first != slot.last) {
    leave_queue(cache, slab);
    join_queue(cache, slab);
  }
  return slot.first != 0 ? line_of(slot.first) : find_waiting(cache, size_class);
}

// Before a class with its own slabs gets another one: a slab of its coarser class with a
// block in touched memory. Null: there is none.
UnitLine* find_coarser(ThreadCache* cache, std::uint32_t size_class) noexcept {
  const std::uint32_t coarse = size_classes[size_class].coarse;
  if (coarse == size_class) return nullptr;
  UnitLine* slab = has_slabs(cache, coarse) ? first_slab(cache, coarse) : nullptr;
  if (slab == nullptr) slab = claim_for(cache, coarse);
  return slab == nullptr || is_to_be_carved(cache, slab) ? nullptr : slab;
}

// Instead of memory that was never used: a block between others of any size. Null: none has room.
Block* take_mixed(ThreadCache* cache, std::uint32_t size_class) noexcept {
  if (!has_mixed_slabs() || cache->is_private || dirty_bytes() != 0) return nullptr;
  if (!can_borrow(cache) && !(return_borrowed(cache) && can_borrow(cache))) return nullptr;
  const MixedBlocks found = carve_mixed(size_class);
  if (found.slab == nullptr) return nullptr;
  return open_borrowed(cache, found.slab, found.blocks, size_class, size_class);
}

// In a forked child, before fresh memory is touched: claims a slab left behind, of this
// class or its coarser one, and returns that class; 0: none.
std::uint32_t claim_left_behind(ThreadCache* cache, std::uint32_t size_class) noexcept {
  const std::uint32_t coarse = size_classes[size_class].coarse;
  if (cache->is_private || !settle_left_behind(size_class, coarse)) return 0;
  if (claim_for(cache, size_class) != nullptr) return size_class;
  return claim_for(cache, coarse) != nullptr ? coarse : 0;
}

// A block of class `serving` for a request of `size_class`, when no list of `serving` has a block.
Block* refill_from(ThreadCache* cache, std::uint32_t serving, std::uint32_t size_class) noexcept {
  count_steps();
  counters::add_owned(cache->slots[serving].refills, 1);
  cache->visits = cache->visits + 1;
  if (has_notices(cache)) collect_notices(cache, 4);
  UnitLine* slab = first_slab(cache, serving);
  if (has_left_behind && (slab == nullptr || is_to_be_carved(cache, slab))) {
    const std::uint32_t claimed = claim_left_behind(cache, size_class);
    if (claimed != 0) {
      serving = claimed;
      slab = first_slab(cache, serving);
    }
  }
  if (slab == nullptr) {
    if (serving != size_class && is_promoted(cache, size_class)) serving = size_class;
    slab = claim_for(cache, serving);
    if (slab == nullptr && serving == size_class) slab = find_coarser(cache, size_class);
    if (slab == nullptr) {
      if (Block* borrowed = borrow_block(cache, serving, size_class)) return borrowed;
      if (Block* mixed = take_mixed(cache, size_class)) return mixed;
      free_delayed(cache);
      take_over_returned(cache, size_classes[serving].units);
      slab = open_for(cache, serving);
    }
  }
  if (slab == nullptr) return nullptr;
  Block* block = take_first(cache, slab);
  make_current(cache, slab->size_class, ready_list(cache, slab), size_class);
  return block;
}

}  // namespace

void* take_empty(ThreadCache* cache) noexcept {
  void* block = take_empty_block(&cache->next_empty);
  if (block == nullptr) return nullptr;
  counters::add_owned(cache->slots[0].refills, 1);
  counters::add_owned(cache->slots[0].taken, 1);
  return block;
}

void* take_block(ThreadCache* cache, std::uint32_t size_class) noexcept {
  if (size_class == 0) {
    void* empty = cache->is_private ? nullptr : take_empty(cache);
    if (empty != nullptr) return empty;
    size_class = 1;
  }
  const std::uint32_t serving = has_slabs(cache, size_class) ? size_class : size_classes[size_class].coarse;
  cache->slots[serving].is_used = true;
  if (has_borrowed(cache->slots[serving])) [[unlikely]] {
    Block* const block = take_borrowed(cache, serving, size_class);
    return block != nullptr ? block : take_block(cache, size_class);  // that list is no more
  }
  const std::uint32_t first = cache->slots[serving].first;
  if (first != 0) {
    UnitLine* slab = line_of(first);
    BlockList* list = ready_list(cache, slab);
    if (list->free_list != nullptr) {
      require_listed(slab, list->free_list);
      make_current(cache, serving, list, size_class);
      return pop(list, list->free_list);
    }
  }
  if (serving != size_class) {
    cache->count(Reason::refill_cold);
    vote(cache, size_class);
  }
  return refill_from(cache, serving, size_class);
}

}  // namespace heapwright::heap
