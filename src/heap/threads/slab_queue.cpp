// SPDX-License-Identifier: MIT
#include "heap/threads/slab_queue.hpp"

#include <algorithm>

#include "heap/base/counting.hpp"
#include "heap/slabs/slab.hpp"
#include "heap/threads/detached_blocks.hpp"

namespace heapwright::heap {

namespace {

// A sparse slab that is the only one of its class is kept, up to this total.
inline constexpr std::uint32_t most_kept_bytes = 128 * 1024;

std::uintptr_t distance_of(const ThreadCache* cache, const BlockList* list) noexcept {
  return reinterpret_cast<std::uintptr_t>(list) - reinterpret_cast<std::uintptr_t>(cache);
}

// The slab is no longer the first of its queue.
void clear_current(ThreadCache* cache, UnitLine* slab) noexcept {
  ClassSlot& slot = slot_of(cache, slab);
  if (slot.least_step == 0) return;
  const BlockList* detached = detached_list(cache, slab);
  const std::uintptr_t distance = distance_of(cache, slab);
  const std::uintptr_t other = detached == nullptr ? distance : distance_of(cache, detached);
  for (std::size_t step = slot.least_step; step <= slot.most_step; ++step) {
    count_steps();
    if (cache->current[step] == distance || cache->current[step] == other) cache->current[step] = 0;
  }
  if (has_borrowed(slot)) return;  // its steps are among these
  slot.least_step = 0;
  slot.most_step = 0;
}

void leave_ring(ThreadCache* cache, UnitLine* slab) noexcept {
  ClassSlot& slot = slot_of(cache, slab);
  line_of(slab->prev)->next = slab->next;
  line_of(slab->next)->prev = slab->prev;
  if (slot.waiting == unit_of(slab)) slot.waiting = slab->next == slot.waiting ? 0 : slab->next;
}

}  // namespace

void clear_steps(ThreadCache* cache, const ClassSlot& slot, const BlockList& list) noexcept {
  if (slot.least_step == 0) return;
  const std::uintptr_t distance = distance_of(cache, &list);
  for (std::size_t step = slot.least_step; step <= slot.most_step; ++step) {
    count_steps();
    if (cache->current[step] == distance) cache->current[step] = 0;
  }
}

void make_current(ThreadCache* cache, std::uint32_t serving, const BlockList* list,
                  std::uint32_t size_class) noexcept {
  if (size_class > last_small_class) return;
  // One or two steps: steps are 8 bytes, classes 16 apart. The step of 0 bytes has no list.
  const std::size_t last = step_of(block_bytes_of(size_class));
  const std::size_t first = size_class <= 2 ? last : last - 1;
  const std::uintptr_t distance = distance_of(cache, list);
  cache->current[first] = distance;
  cache->current[last] = distance;
  ClassSlot& slot = cache->slots[serving];
  const auto least = static_cast<std::uint16_t>(first);
  if (slot.least_step == 0 || least < slot.least_step) slot.least_step = least;
  slot.most_step = std::max(slot.most_step, static_cast<std::uint16_t>(last));
}

void count_blocks(ThreadCache* cache, UnitLine* slab, std::uint32_t outside) noexcept {
  ClassSlot& slot = slot_of(cache, slab);
  counters::add_owned(slot.taken, slab->taken);
  counters::add_owned(slot.returned, slab->taken + slab->counted - outside);
  slab->add_taken(0 - slab->taken);
  slab->counted = static_cast<std::uint16_t>(outside);
}

void hold_units(ThreadCache* cache, std::uint32_t size_class, std::uint32_t more) noexcept {
  const std::uint32_t held = cache->slots[size_class].held_units + more;
  cache->slots[size_class].held_units = held;
  const std::uint64_t bit = std::uint64_t{1} << size_class % 64;
  Relaxed<std::uint64_t>& word = cache->with_slabs[size_class / 64];
  word = held != 0 || has_borrowed(cache->slots[size_class]) ? word | bit : word & ~bit;
}

void join_queue(ThreadCache* cache, UnitLine* slab) noexcept {
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

void leave_queue(ThreadCache* cache, UnitLine* slab) noexcept {
  ClassSlot& slot = slot_of(cache, slab);
  if (slot.first == unit_of(slab)) clear_current(cache, slab);
  close_detached(cache, slab);
  count_blocks(cache, slab, unlisted_count(slab));
  if (slab->next != 0) {
    line_of(slab->next)->prev = slab->prev;
  } else {
    slot.last = slab->prev;
  }
  if (slab->prev != 0) {
    line_of(slab->prev)->next = slab->next;
  } else {
    slot.first = slab->next;
  }
  clear_flag(slab, is_listed);
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

void leave_class(ThreadCache* cache, UnitLine* slab) noexcept {
  has_flag(slab, is_listed) ? leave_queue(cache, slab) : leave_ring(cache, slab);
  hold_units(cache, slab->size_class, -slab->units);
}

bool is_only_one(const ThreadCache* cache, const UnitLine* slab) noexcept {
  const ClassSlot& slot = cache->slots[slab->size_class];
  return slot.first == slot.last && (slot.first == 0 || slot.first == unit_of(slab));
}

void unkeep(ThreadCache* cache, UnitLine* slab) noexcept {
  if (!has_flag(slab, is_kept)) return;
  clear_flag(slab, is_kept);
  cache->kept_bytes -= used_bytes(slab);
}

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

bool keep(ThreadCache* cache, UnitLine* slab) noexcept {
  if (has_flag(slab, is_kept)) return true;
  if (!is_only_one(cache, slab) || cache->kept_bytes + used_bytes(slab) > most_kept_bytes) return false;
  cache->kept_bytes += used_bytes(slab);
  if (!has_flag(slab, is_listed)) enlist(cache, slab);
  set_flag(slab, is_kept);
  return true;
}

}  // namespace heapwright::heap
