// SPDX-License-Identifier: MIT
// length: refills, events and giving up keep the same queue and its flags right
#include "heap/thread_cache.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include "heap/cache_slabs.hpp"
#include "heap/counting.hpp"
#include "heap/detached_blocks.hpp"
#include "heap/maintenance.hpp"
#include "heap/misuse.hpp"
#include "heap/partial_pool.hpp"
#include "heap/prefetch.hpp"
#include "heap/promotion.hpp"
#include "heap/remote_free.hpp"

namespace heapwright::heap {

using counters::Reason;

namespace {

ClassSlot& slot_of(ThreadCache* cache, const UnitLine* slab) noexcept {
  return cache->slots[slab->size_class];
}

// Slabs of so many units more, modulo 2^32.
void hold_units(ThreadCache* cache, std::uint32_t size_class, std::uint32_t more) noexcept {
  std::uint32_t& held = cache->slots[size_class].held_units;
  held += more;
  const std::uint64_t bit = std::uint64_t{1} << size_class % 64;
  std::uint64_t& word = cache->with_slabs[size_class / 64];
  word = held != 0 ? word | bit : word & ~bit;
}

std::uintptr_t distance_of(const ThreadCache* cache, const BlockList* list) noexcept {
  return reinterpret_cast<std::uintptr_t>(list) - reinterpret_cast<std::uintptr_t>(cache);
}

// `list` of the first slab of a queue, for a request of the class.
[[gnu::hot]] void make_current(ThreadCache* cache, const UnitLine* slab, const BlockList* list,
                               std::uint32_t size_class) noexcept {
  if (size_class > last_small_class) return;
  // One or two steps: of 8 bytes, where classes are 16 apart.
  const std::size_t last = step_of(block_bytes_of(size_class));
  const std::size_t first = size_class == 2 ? last : last - 1;
  const std::uintptr_t distance = distance_of(cache, list);
  cache->current[first] = distance;
  cache->current[last] = distance;
  ClassSlot& slot = slot_of(cache, slab);
  const auto least = static_cast<std::uint16_t>(std::max<std::size_t>(first, 1));
  if (slot.least_step == 0 || least < slot.least_step) slot.least_step = least;
  slot.most_step = std::max(slot.most_step, static_cast<std::uint16_t>(last));
}

// The slab is the first of its queue no more.
void clear_current(ThreadCache* cache, UnitLine* slab) noexcept {
  ClassSlot& slot = slot_of(cache, slab);
  if (slot.least_step == 0) return;
  if (slab->size_class == 1) cache->current[0] = 0;
  const BlockList* detached = detached_list(cache, slab);
  const std::uintptr_t distance = distance_of(cache, slab);
  const std::uintptr_t other = detached == nullptr ? distance : distance_of(cache, detached);
  for (std::size_t step = slot.least_step; step <= slot.most_step; ++step) {
    count_steps();
    if (cache->current[step] == distance || cache->current[step] == other) cache->current[step] = 0;
  }
  slot.least_step = 0;
  slot.most_step = 0;
}

// Brings the counters of the class up to date with the slab, of which `outside`
// blocks are handed out or in the remote list.
void count_blocks(ThreadCache* cache, UnitLine* slab, std::uint32_t outside) noexcept {
  ClassSlot& slot = slot_of(cache, slab);
  counters::add_owned(slot.taken, slab->taken);
  counters::add_owned(slot.returned, slab->taken + slab->counted - outside);
  slab->add_taken(0 - slab->taken);
  slab->counted = static_cast<std::uint16_t>(outside);
}

// Every slab of a cache is either in its class's queue or in the ring of those
// that wait for blocks to come back.
void leave_queue(ThreadCache* cache, UnitLine* slab) noexcept {
  ClassSlot& slot = slot_of(cache, slab);
  if (slot.first == unit_of(slab)) clear_current(cache, slab);
  close_detached(cache, slab);
  count_blocks(cache, slab, unlisted_count(slab));
  (slab->next != 0 ? line_of(slab->next)->prev : slot.last) = slab->prev;
  if (slab->prev != 0) {
    line_of(slab->prev)->next = slab->next;
  } else {
    slot.first = slab->next;
  }
  clear_flag(slab, is_listed);
}

[[gnu::hot]] void join_queue(ThreadCache* cache, UnitLine* slab) noexcept {
  ClassSlot& slot = slot_of(cache, slab);
  const std::uint32_t unit = unit_of(slab);
  slab->next = 0;
  slab->prev = slot.last;
  if (slot.last != 0) {
    line_of(slot.last)->next = unit;
  } else {
    slot.first = unit;
  }
  slot.last = unit;
  set_flag(slab, is_listed);
}

void join_ring(ThreadCache* cache, UnitLine* slab) noexcept {
  ClassSlot& slot = slot_of(cache, slab);
  const std::uint32_t unit = unit_of(slab);
  if (slot.waiting == 0) slot.waiting = slab->next = slab->prev = unit;
  UnitLine* oldest = line_of(slot.waiting);
  slab->next = slot.waiting;
  slab->prev = oldest->prev;
  line_of(oldest->prev)->next = unit;
  oldest->prev = unit;
}

void leave_ring(ThreadCache* cache, UnitLine* slab) noexcept {
  ClassSlot& slot = slot_of(cache, slab);
  line_of(slab->prev)->next = slab->next;
  line_of(slab->next)->prev = slab->prev;
  if (slot.waiting == unit_of(slab)) slot.waiting = slab->next == slot.waiting ? 0 : slab->next;
}

void leave_class(ThreadCache* cache, UnitLine* slab) noexcept {
  has_flag(slab, is_listed) ? leave_queue(cache, slab) : leave_ring(cache, slab);
  hold_units(cache, slab->size_class, -slab->units);
}

void unkeep(ThreadCache* cache, UnitLine* slab) noexcept {
  if (!has_flag(slab, is_kept)) return;
  clear_flag(slab, is_kept);
  cache->kept_bytes -= used_bytes(slab);
}

void close(ThreadCache* cache, UnitLine* slab) noexcept {
  count_blocks(cache, slab, 0);
  cache->count(Reason::slab_emptied);
  close_slab(slab);
}

// The slab leaves the cache for the page source.
void release(ThreadCache* cache, UnitLine* slab) noexcept {
  unkeep(cache, slab);
  leave_class(cache, slab);
  close(cache, slab);
}

// The slab leaves the cache for the pool, unless a notice about it is under way.
void give_to_pool(ThreadCache* cache, UnitLine* slab) noexcept {
  if (cache->is_private || !attach_blocks(cache, slab) || !unwatch(slab))
    return schedule_event(slab, detached_count(cache, slab));
  leave_class(cache, slab);
  unkeep(cache, slab);
  clear_flag(slab, is_candidate);
  cache->count(Reason::slab_pooled);
  if (!pool_slab(slab)) close(cache, slab);
}

bool is_only_one(const ThreadCache* cache, const UnitLine* slab) noexcept {
  const ClassSlot& slot = cache->slots[slab->size_class];
  return slot.first == slot.last && (slot.first == 0 || slot.first == unit_of(slab));
}

// From the ring into the queue, whose slab is kept only as long as it is the only one.
void enlist(ThreadCache* cache, UnitLine* slab) noexcept {
  const ClassSlot& slot = slot_of(cache, slab);
  leave_ring(cache, slab);
  if (slot.first != 0 && slot.first == slot.last && has_flag(line_of(slot.first), is_kept)) {
    UnitLine* kept = line_of(slot.first);
    unkeep(cache, kept);
    schedule_event(kept);
  }
  join_queue(cache, slab);
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
  if (!keep(cache, slab) && unwatch(slab)) return release(cache, slab);
  schedule_event(slab, detached_count(cache, slab));  // the notice under way will come back to this
}

// Sparse slabs wait in a short ring, for most fill or empty soon; the one that
// falls out of it goes to the pool.
void on_sparse(ThreadCache* cache, UnitLine* slab) noexcept {
  if (has_flag(slab, is_candidate) || keep(cache, slab))
    return schedule_event(slab, detached_count(cache, slab));
  if (is_only_one(cache, slab)) return give_to_pool(cache, slab);
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

// All of the slab is handed out: told about when an eighth is back, or by the
// notice that is under way.
void await_blocks(ThreadCache* cache, UnitLine* slab) noexcept {
  if (rewatch(slab, slab->carved / 8 + 1) == Watch::reached) enlist(cache, slab);
}

// Told when all of the slab is back. As long as none of it comes from others, the
// watch that there is will do: most slabs come and go by their owner's calls,
// and a locked instruction waits for all that the program wrote before it.
Watch watch_rest(UnitLine* slab) noexcept {
  const RemoteWord word = remote_of(slab);
  if (has_flag(slab, is_watched) && word.is_armed() && word.count() == 0) return Watch::armed;
  return rewatch(slab, unlisted_count(slab));
}

void consider(ThreadCache* cache, UnitLine* slab) noexcept {
  const std::uint32_t detached = detached_count(cache, slab);
  if (is_empty(slab, detached)) return on_empty(cache, slab);
  if (!has_flag(slab, is_listed) && !has_blocks(slab)) {
    // Taken again before the notice about it arrived.
    await_blocks(cache, slab);
    return schedule_event(slab);
  }
  if (!has_flag(slab, is_listed) && watch_rest(slab) != Watch::told) enlist(cache, slab);
  if (has_flag(slab, is_listed) && is_sparse(slab, detached)) return on_sparse(cache, slab);
  schedule_event(slab, detached);
}

// Blocks of fresh memory.
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

// The first block of what others freed; the rest is for the calls to come. The
// slab is the first of its queue.
Block* take_freed_by_others(ThreadCache* cache, UnitLine* slab) noexcept {
  cache->count(Reason::refill_remote);
  const Chain chain = take_remote(slab);
  BlockList* list = chain.count == 1 ? slab : open_detached(cache, slab);
  if (list == nullptr || list == slab) {
    relist(slab, chain);
    return pop(slab, chain.first);
  }
  list->free_list = chain.first;
  list->set_countdown(0 - chain.count);
  return pop(list, chain.first);
}

Block* take_made(ThreadCache* cache, UnitLine* slab) noexcept {
  const Chain chain = make_blocks(cache, slab);
  // A block that is alone may begin an untouched page, and has no link.
  if (chain.count > 1) relist(slab, {chain.first->next, chain.count - 1});
  slab->add_taken(1);
  return chain.first;
}

// The slab is the first of its queue and has a block.
Block* take_from(ThreadCache* cache, UnitLine* slab) noexcept {
  BlockList* list = ready_list(cache, slab);
  Block* block = list->free_list;
  clear_flag(slab, is_candidate);
  if (block != nullptr) {
    if (list == slab) check_list(slab, {block, listed_count(slab)});
    pop(list, block);
    cache->count(Reason::refill_local);
    // An event that comes before the slab is empty stays where it is.
    if (list == slab && slab->rest > 0) return block;
  } else {
    check_nothing_listed(slab);
    block = remote_of(slab).has_blocks() ? take_freed_by_others(cache, slab) : take_made(cache, slab);
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

void add_slab(ThreadCache* cache, UnitLine* slab, Reason reason) noexcept {
  cache->count(reason);
  hold_units(cache, slab->size_class, slab->units);
  join_queue(cache, slab);
}

// Of the pool. Null: it has none of the class.
[[gnu::hot]] UnitLine* claim_for(ThreadCache* cache, std::uint32_t size_class) noexcept {
  UnitLine* slab = cache->is_private ? nullptr : claim_slab(size_class, cache);
  if (slab == nullptr) return nullptr;
  add_slab(cache, slab, Reason::slab_claimed);
  schedule_event(slab);
  return slab;
}

// Null: no memory.
UnitLine* open_for(ThreadCache* cache, std::uint32_t size_class) noexcept {
  const std::uint32_t units =
      has_slabs(cache, size_class) ? size_classes[size_class].units : first_slab_units;
  const Run run = find_run(cache, units);
  if (run.unit == 0) return nullptr;
  UnitLine* slab = open_slab(run, size_class, units, cache);
  add_slab(cache, slab, Reason::slab_opened);
  return slab;
}

// Before a slab is fetched: one of the few that have waited longest and have
// some blocks back, though too few for an event. Null: none.
UnitLine* find_waiting(ThreadCache* cache, std::uint32_t size_class) noexcept {
  constexpr int most_looked_at = 2;
  ClassSlot& slot = cache->slots[size_class];
  for (int i = 0; i < most_looked_at && slot.waiting != 0; ++i) {
    count_steps();
    UnitLine* slab = line_of(slot.waiting);
    const std::uint32_t back = listed_count(slab) + remote_of(slab).count();
    if (back > slab->carved / 16 && watch_rest(slab) != Watch::told) {
      enlist(cache, slab);
      schedule_event(slab);
      return slab;
    }
    slot.waiting = slab->next;
  }
  return nullptr;
}

// The first slab of a queue has nothing left. It may be back in the queue at
// once, if others freed blocks meanwhile.
void retire(ThreadCache* cache, UnitLine* slab) noexcept {
  check_nothing_listed(slab);
  unkeep(cache, slab);
  leave_queue(cache, slab);
  join_ring(cache, slab);
  await_blocks(cache, slab);
  schedule_event(slab);
}

// A slab whose blocks would have to be made of fresh memory: others go first.
bool is_to_be_carved(ThreadCache* cache, UnitLine* slab) noexcept {
  return ready_list(cache, slab)->free_list == nullptr && !remote_of(slab).has_blocks();
}

// The first slab of the queue, with a block. Null: there is none.
[[gnu::hot]] UnitLine* first_slab(ThreadCache* cache, std::uint32_t size_class) noexcept {
  const ClassSlot& slot = cache->slots[size_class];
  if (slot.first != 0) {
    UnitLine* slab = line_of(slot.first);
    if (!has_blocks(slab) && detached_count(cache, slab) == 0) {
      prefetch_search(cache, size_class);
      prefetch_waiting(cache, size_class);
      retire(cache, slab);
    } else if (slot.first != slot.last && is_to_be_carved(cache, slab)) {
      leave_queue(cache, slab);
      join_queue(cache, slab);
    }
  }
  return slot.first != 0 ? line_of(slot.first) : find_waiting(cache, size_class);
}

// Before a class that has slabs of its own gets another one: a slab of its
// coarser class with a block that was used before. Null: there is none.
UnitLine* find_coarser(ThreadCache* cache, std::uint32_t size_class) noexcept {
  const std::uint32_t coarse = size_classes[size_class].coarse;
  if (coarse == size_class) return nullptr;
  UnitLine* slab = has_slabs(cache, coarse) ? first_slab(cache, coarse) : nullptr;
  if (slab == nullptr) slab = claim_for(cache, coarse);
  return slab == nullptr || is_to_be_carved(cache, slab) ? nullptr : slab;
}

// A block of `serving`, whose first slab has none ready, for a request of `size_class`.
[[gnu::hot]] Block* take_of(ThreadCache* cache, std::uint32_t serving, std::uint32_t size_class) noexcept {
  count_steps();
  counters::add_owned(cache->slots[serving].refills, 1);
  if (cache->pending != 0 || cache->notified.load(std::memory_order_relaxed) != 0) collect_notices(cache, 4);
  UnitLine* slab = first_slab(cache, serving);
  if (slab == nullptr) {
    if (serving != size_class && is_promoted(cache, size_class)) serving = size_class;
    slab = claim_for(cache, serving);
    if (slab == nullptr && serving == size_class) slab = find_coarser(cache, size_class);
    if (slab == nullptr) slab = open_for(cache, serving);
  }
  if (slab == nullptr) return nullptr;
  Block* block = take_from(cache, slab);
  make_current(cache, slab, ready_list(cache, slab), size_class);
  return block;
}

// The first slab of a queue leaves it.
void give_up(ThreadCache* cache, UnitLine* slab) noexcept {
  const std::uint32_t detached = detached_count(cache, slab);
  if (!has_blocks(slab) && detached == 0) return retire(cache, slab);
  unkeep(cache, slab);
  if (is_empty(slab, detached) && unwatch(slab)) return release(cache, slab);
  give_to_pool(cache, slab);
}

}  // namespace

[[gnu::hot]] void* take_block(ThreadCache* cache, std::uint32_t size_class) noexcept {
  if (size_class == 0) size_class = 1;
  if (size_class <= last_small_class && cache->current[step_of(block_bytes_of(size_class))] == 0)
    prefetch_search(cache, size_class);
  const std::uint32_t serving = has_slabs(cache, size_class) ? size_class : size_classes[size_class].coarse;
  cache->slots[serving].is_used = true;
  const std::uint32_t first = cache->slots[serving].first;
  if (first != 0) {
    BlockList* list = ready_list(cache, line_of(first));
    if (list->free_list != nullptr) {
      make_current(cache, line_of(first), list, size_class);
      return pop(list, list->free_list);
    }
  }
  if (serving != size_class) {
    cache->count(Reason::refill_cold);
    vote(cache, size_class);
  }
  return take_of(cache, serving, size_class);
}

void on_event(ThreadCache* cache, UnitLine* slab) noexcept {
  const StepScope scope;
  check_last_free(slab);
  const bool is_under_lock = cache->is_private;
  consider(cache, slab);
  if (!is_under_lock) give_back_if_due();
}

bool collect_notices(ThreadCache* cache, std::uint32_t most) noexcept {
  for (std::uint32_t i = 0; i < most; ++i) {
    count_steps();
    if (cache->pending == 0) cache->pending = cache->notified.exchange(0, std::memory_order_acquire);
    if (cache->pending == 0) return false;
    UnitLine* slab = line_of(cache->pending);
    cache->pending = slab->second_next;
    clear_flag(slab, is_watched);
    if (has_flag(slab, is_listed)) watch_rest(slab);
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

bool give_up_slab(ThreadCache* cache) noexcept {
  for (std::uint32_t word = 0; word < std::size(cache->with_slabs); ++word) {
    for (std::uint64_t bits = cache->with_slabs[word]; bits != 0; bits &= bits - 1) {
      count_steps();
      const std::uint32_t unit =
          cache->slots[word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits))].first;
      if (unit == 0) continue;
      give_up(cache, line_of(unit));
      return true;
    }
  }
  return false;
}

}  // namespace heapwright::heap
