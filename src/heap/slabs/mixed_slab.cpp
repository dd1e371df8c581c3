// SPDX-License-Identifier: MIT
#include "heap/slabs/mixed_slab.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>

#include "heap/base/counting.hpp"
#include "heap/base/messages.hpp"
#include "heap/base/own_thread.hpp"
#include "heap/base/system_pages.hpp"
#include "heap/pages/free_run_bins.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/slabs/granules.hpp"
#include "heap/slabs/misuse.hpp"
#include "heap/slabs/slab.hpp"

namespace heapwright::heap {

namespace {

constexpr std::uint32_t granules_of_page = carve_bytes / granule_bytes;
constexpr std::uint32_t page_count = unit_bytes / carve_bytes;
static_assert(2 * granule_words == slab_map_words);

struct MixedSlabs {
  Lock lock;
  Bins bins;             // by the longest hole
  std::uint32_t oldest;  // unpurged slabs by age, linked by second_next
  std::uint32_t newest;
  std::atomic<std::uint32_t> unpurged;  // written under the lock, as is the number of all
  counters::Counter mixed_away[class_count];
};
constinit MixedSlabs mixed{};

LockGuard lock_mixed() noexcept { return {mixed.lock, counters_page->heap.pool_lock}; }

Block* block_at(const UnitLine* slab, std::uint32_t granule) noexcept {
  return reinterpret_cast<Block*>(begin_of_slab(slab) + std::size_t{granule} * granule_bytes);
}

std::uint32_t pages_of(std::uint32_t begin, std::uint32_t end) noexcept {
  const std::uint32_t first = begin / granules_of_page;
  const std::uint32_t behind = (end + granules_of_page - 1) / granules_of_page;
  return (1U << behind) - (1U << first);
}

void count_block(UnitLine* slab, std::uint32_t begin, std::uint32_t end, int blocks) noexcept {
  const std::uint32_t more = end - begin;
  slab->taken = blocks > 0 ? slab->taken + more : slab->taken - more;
  slab->rest = static_cast<std::int16_t>(slab->rest + blocks);
}

// The longest hole is now known to be this long.
void file_under(UnitLine* slab, std::uint32_t hole) noexcept {
  if (has_flag(slab, is_listed)) mixed.bins.remove(unit_of(slab));
  clear_flag(slab, is_listed);
  slab->units = std::max(hole, 1U);  // not 0, from which a thread that took this for a slab computes
  if (hole == 0) return;
  mixed.bins.insert(unit_of(slab));
  set_flag(slab, is_listed);
}

void append_aged(UnitLine* slab) noexcept {
  clear_flag(slab, is_purged);
  slab->stamp = current_tick();
  slab->second_next = 0;
  slab->second_prev = mixed.newest;
  (mixed.newest != 0 ? line_of(mixed.newest)->second_next : mixed.oldest) = unit_of(slab);
  mixed.newest = unit_of(slab);
  mixed.unpurged.fetch_add(1, std::memory_order_relaxed);
}

void remove_aged(UnitLine* slab) noexcept {
  (slab->second_next != 0 ? line_of(slab->second_next)->second_prev : mixed.newest) = slab->second_prev;
  (slab->second_prev != 0 ? line_of(slab->second_prev)->second_next : mixed.oldest) = slab->second_next;
  set_flag(slab, is_purged);
  mixed.unpurged.fetch_sub(1, std::memory_order_relaxed);
}

// Blocks of `length` granules, placed into the first holes.
class Placing {
 public:
  Placing(UnitLine* slab, std::uint32_t length, std::uint32_t most) noexcept
      : slab_(slab),
        map_(map_of(slab)->words),
        length_(length),
        step_(std::min(length & -length, granules_of_page)),
        most_(most) {}

  // Also finds the longest hole that is left, of the holes it looks at.
  Chain run() noexcept {
    constexpr int most_holes = 128;
    std::uint32_t hole = map_.next_free(0);
    for (int i = 0; i < most_holes && hole < granules; ++i) {
      count_steps();
      const std::uint32_t end = map_.next_used(hole);
      fill(hole, end);
      hole = map_.next_free(end);
    }
    if (last_ != nullptr) last_->set_next(nullptr);
    return placed_;
  }
  std::uint32_t longest() const noexcept { return longest_; }

 private:
  void fill(std::uint32_t begin, std::uint32_t end) noexcept {
    std::uint32_t at = (begin + step_ - 1) & ~(step_ - 1);
    if (placed_.count == most_ || at + length_ > end) {
      longest_ = std::max(longest_, end - begin);
      return;
    }
    longest_ = std::max(longest_, at - begin);
    for (; placed_.count != most_ && at + length_ <= end; at += length_) {
      count_steps();
      map_.take(at, at + length_);
      count_block(slab_, at, at + length_, 1);
      slab_->freed |= pages_of(at, at + length_);
      Block* const block = block_at(slab_, at);
      (last_ != nullptr ? last_->set_next(block) : void(placed_.first = block));
      last_ = block;
      ++placed_.count;
    }
    longest_ = std::max(longest_, end - at);
  }

  UnitLine* slab_;
  Granules map_;
  std::uint32_t length_;
  std::uint32_t step_;
  std::uint32_t most_;
  std::uint32_t longest_ = 0;
  Chain placed_{nullptr, 0};
  Block* last_ = nullptr;
};

// Returns the length of the hole around it.
std::uint32_t give(UnitLine* slab, std::uint32_t begin, std::uint32_t end) noexcept {
  Granules map(map_of(slab)->words);
  map.give(begin, end);
  count_block(slab, begin, end, -1);
  return map.next_used(end) - map.begin_of_hole(begin);
}

void give_and_file(UnitLine* slab, std::uint32_t begin, std::uint32_t end) noexcept {
  const std::uint32_t hole = give(slab, begin, end);
  if (hole > slab->units || !has_flag(slab, is_listed)) file_under(slab, hole);
}

[[noreturn, gnu::cold]] void stop_for_no_block(const char* function, const UnitLine* slab,
                                               const void* pointer) noexcept {
  const auto offset = static_cast<std::size_t>(static_cast<const char*>(pointer) - begin_of_slab(slab));
  const auto at = static_cast<std::uint32_t>(offset / granule_bytes);
  const Granules map(map_of(slab)->words);
  if (!map.is_used(at)) stop_for_invalid_pointer(function, pointer);
  const std::uint32_t begin = map.begin_of_block(at);
  stop_for_pointer_inside(function, pointer, block_at(slab, begin),
                          (map.end_of_block(begin) - begin) * std::size_t{granule_bytes});
}

// The granule at which the block begins.
std::uint32_t require_start(const char* function, const UnitLine* slab, const void* block) noexcept {
  if (slab->kind != UnitKind::mixed) stop_for_pointer(function, block);  // freed twice: the slab is gone
  const auto offset = static_cast<std::size_t>(static_cast<const char*>(block) - begin_of_slab(slab));
  const auto begin = static_cast<std::uint32_t>(offset / granule_bytes);
  if (offset >= unit_bytes || offset % granule_bytes != 0 || !Granules(map_of(slab)->words).is_start(begin)) {
    stop_for_no_block(function, slab, block);
  }
  return begin;
}

void free_block(UnitLine* slab, const void* block) noexcept {
  const std::uint32_t begin = require_start("free", slab, block);
  give_and_file(slab, begin, Granules(map_of(slab)->words).end_of_block(begin));
  if (has_flag(slab, is_purged)) append_aged(slab);
}

// Blocks of threads that took this for a slab.
void drain(UnitLine* slab) noexcept {
  RemoteWord word = remote_of(slab);
  do {
    count_steps();
    if (!word.has_blocks()) return;
  } while (!slab->remote.compare_exchange_weak(word.bits, word.emptied().bits, std::memory_order_acq_rel));
  const Block* block = reinterpret_cast<Block*>(begin_of_slab(slab) + word.head_offset());
  for (std::uint32_t left = word.count(); left != 0; --left) {
    count_steps();
    const Block* const next = block->next();
    free_block(slab, block);
    block = next;
  }
}

// True: nothing of it was in use, and the caller returns its run, after unlocking.
bool dissolve_if_empty(UnitLine* slab) noexcept {
  if (slab->taken != 0 || !unwatch(slab)) return false;
  if (has_flag(slab, is_listed)) mixed.bins.remove(unit_of(slab));
  if (!has_flag(slab, is_purged)) remove_aged(slab);
  free_dropped_map(slab);
  slab->kind = UnitKind::inside;
  mixed_slabs.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

void return_run(const UnitLine* slab) noexcept { free_run(unit_of(slab), 1, slab->freed != 0); }

// Into the map: which granules have live blocks; returns how many blocks.
std::uint32_t mark_live(const UnitLine* slab, DroppedMap* map, const std::uint64_t* free) noexcept {
  std::uint64_t words[slab_map_words] = {};
  Granules live(words);
  const std::uint32_t length = class_of_slab(slab).block_bytes / granule_bytes;
  std::uint32_t blocks = 0;
  for (std::uint32_t word = 0; word * 64 < slab->fresh; ++word) {
    const std::uint32_t in_word = std::min<std::uint32_t>(64, slab->fresh - word * 64);
    std::uint64_t bits = ~(free[word] | map->words[word]) & ~std::uint64_t{0} >> (64 - in_word);
    for (; bits != 0; bits &= bits - 1) {
      count_steps();
      const std::uint32_t at = (word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits))) * length;
      live.take(at, at + length);
      ++blocks;
    }
  }
  std::copy(words, words + slab_map_words, map->words);
  return blocks;
}

}  // namespace

void mix(UnitLine* slab, DroppedMap* map, const std::uint64_t* free) noexcept {
  const std::uint32_t blocks = mark_live(slab, map, free);
  const std::uint32_t used_granules = used_bytes(slab) / granule_bytes;
  counters::add(mixed.mixed_away[slab->size_class], slab->counted);
  bool is_empty_now = false;
  {
    const LockGuard locked = lock_mixed();
    slab->free_list = nullptr;
    slab->freed = used_granules == 0 ? 0 : pages_of(0, used_granules);
    slab->taken = blocks * (class_of_slab(slab).block_bytes / granule_bytes);
    slab->rest = static_cast<std::int16_t>(blocks);
    slab->dropped = number_of(map);
    slab->flags = 0;
    slab->kind = UnitKind::mixed;
    slab->owner.store(nullptr, std::memory_order_release);
    mixed_slabs.fetch_add(1, std::memory_order_relaxed);
    append_aged(slab);
    Placing look(slab, 1, 0);
    look.run();
    file_under(slab, look.longest());
    while (!watch(slab, 1)) drain(slab);
    is_empty_now = dissolve_if_empty(slab);
  }
  if (is_empty_now) return_run(slab);
}

bool has_mixed_slabs() noexcept { return mixed_slabs.load(std::memory_order_relaxed) != 0; }
std::size_t mixed_bytes() noexcept {
  return std::size_t{mixed_slabs.load(std::memory_order_relaxed)} * unit_bytes;
}

MixedBlocks carve_mixed(std::uint32_t size_class) noexcept {
  constexpr int most_slabs = 3;
  constexpr std::uint32_t most_blocks = 64;
  constexpr std::uint32_t most_bytes = 2 * carve_bytes;
  const std::uint32_t bytes = block_bytes_of(size_class);
  if (bytes % granule_bytes != 0 || bytes > unit_bytes / 2) return {nullptr, {nullptr, 0}};
  const std::uint32_t length = bytes / granule_bytes;
  const std::uint32_t most = std::clamp(most_bytes / bytes, 1U, most_blocks);
  const std::uint32_t room = length + std::min(length & -length, granules_of_page) - 1;
  const LockGuard locked = lock_mixed();
  for (int i = 0; i < most_slabs; ++i) {
    count_steps();
    const std::uint32_t unit = mixed.bins.find(room);
    if (unit == 0) break;
    UnitLine* slab = line_of(unit);
    Placing placing(slab, length, most);
    const Chain blocks = placing.run();
    file_under(slab, placing.longest());
    if (blocks.count != 0) return {slab, blocks};
  }
  return {nullptr, {nullptr, 0}};
}

void free_mixed(UnitLine* slab, void* block) noexcept {
  note_waiting_memory();
  bool is_empty_now = false;
  {
    const LockGuard locked = lock_mixed();
    free_block(slab, block);
    is_empty_now = dissolve_if_empty(slab);
  }
  if (is_empty_now) return_run(slab);
}

std::size_t mixed_block_bytes(const char* function, const UnitLine* slab, const void* block) noexcept {
  const LockGuard locked = lock_mixed();
  const std::uint32_t begin = require_start(function, slab, block);
  return (Granules(map_of(slab)->words).end_of_block(begin) - begin) * std::size_t{granule_bytes};
}

void settle_mixed(UnitLine* slab) noexcept {
  bool is_empty_now = false;
  {
    const LockGuard locked = lock_mixed();
    clear_flag(slab, is_watched);
    do {
      drain(slab);
    } while (!watch(slab, 1));
    is_empty_now = dissolve_if_empty(slab);
  }
  if (is_empty_now) return_run(slab);
}

namespace {

struct Pages {
  std::uint32_t begin, end;  // granules
};

// Takes the free pages that may be resident out of circulation, and marks them as returned.
std::uint32_t reserve_pages(UnitLine* slab, Pages* reserved) noexcept {
  Granules map(map_of(slab)->words);
  const auto step =
      static_cast<std::uint32_t>(std::max<std::size_t>(system_page_bytes(), carve_bytes) / granule_bytes);
  std::uint32_t count = 0;
  for (std::uint32_t at = 0; at < granules; at += step) {
    count_steps();
    const std::uint32_t end = std::min(at + step, granules);
    if ((slab->freed & pages_of(at, end)) == 0 || map.next_used(at) < end) continue;
    slab->freed &= ~pages_of(at, end);
    if (count != 0 && reserved[count - 1].end == at) {
      reserved[count - 1].end = end;
    } else {
      reserved[count++] = {at, end};
    }
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    map.take(reserved[i].begin, reserved[i].end);
    count_block(slab, reserved[i].begin, reserved[i].end, 1);
  }
  return count;
}

}  // namespace

bool purge_mixed(std::uint16_t now, std::uint16_t least_age) noexcept {
  Pages reserved[page_count];
  std::uint32_t count = 0;
  UnitLine* slab = nullptr;
  {
    const LockGuard locked = lock_mixed();
    if (mixed.oldest == 0) return false;
    slab = line_of(mixed.oldest);
    if (static_cast<std::uint16_t>(now - slab->stamp) < least_age) return false;
    remove_aged(slab);
    count = reserve_pages(slab, reserved);
  }
  if (count == 0) return true;  // it may be gone already
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::size_t bytes = std::size_t{reserved[i].end - reserved[i].begin} * granule_bytes;
    drop_pages(block_at(slab, reserved[i].begin), bytes);
    counters::add(counters_page->heap.purged_bytes, bytes);
  }
  bool is_empty_now = false;
  {
    const LockGuard locked = lock_mixed();
    for (std::uint32_t i = 0; i < count; ++i) give_and_file(slab, reserved[i].begin, reserved[i].end);
    is_empty_now = dissolve_if_empty(slab);
  }
  if (is_empty_now) return_run(slab);
  return true;
}

bool has_unpurged_mixed() noexcept { return mixed.unpurged.load(std::memory_order_relaxed) != 0; }

std::uint64_t mixed_away(std::uint32_t size_class) noexcept {
  return mixed.mixed_away[size_class].load(std::memory_order_relaxed);
}

Lock& mixed_lock() noexcept { return mixed.lock; }

bool mixed_is_valid(const UnitLine* slab) noexcept {
  const LockGuard locked = lock_mixed();
  const Granules map(map_of(slab)->words);
  std::uint32_t used_granules = 0;
  std::uint32_t blocks = 0;
  std::uint32_t longest = 0;
  for (std::uint32_t at = 0; at < granules;) {
    const bool is_block = map.is_used(at);
    if (is_block != map.is_start(at)) return false;
    const std::uint32_t end = is_block ? map.end_of_block(at) : map.next_used(at);
    if (is_block) {
      used_granules += end - at;
      ++blocks;
      if ((pages_of(at, end) & ~slab->freed) != 0) return false;
    } else {
      longest = std::max(longest, end - at);
    }
    at = end;
  }
  // The longest hole is not always known, but a slab without any is in no bin.
  if (longest == 0 && has_flag(slab, is_listed)) return false;
  return used_granules == slab->taken && blocks == static_cast<std::uint32_t>(slab->rest);
}

}  // namespace heapwright::heap
