// SPDX-License-Identifier: MIT
#include "heap/threads/left_behind.hpp"

#include <atomic>

#include "heap/base/counting.hpp"
#include "heap/slabs/dropped_blocks.hpp"
#include "heap/slabs/misuse.hpp"
#include "heap/slabs/slab.hpp"
#include "heap/threads/caches.hpp"
#include "heap/threads/detached_blocks.hpp"
#include "heap/threads/slab_events.hpp"
#include "heap/threads/slab_queue.hpp"

namespace heapwright::heap {

namespace {

constexpr std::uint32_t links_per_piece = 256;
constexpr int most_looked_at = 64;

// Where the next search begins; null: at the newest cache.
constinit std::atomic<ThreadCache*> next_look{nullptr};

void link_behind(UnitLine* slab, Block* last, Block* next) noexcept {
  if (last == nullptr) {
    slab->free_list = next;
  } else {
    last->set_next(next);
  }
}

// From now on the blocks that others freed form one list with the slab's own.
void begin_recount(ThreadCache* cache, UnitLine* slab) noexcept {
  Recount& recount = cache->recount;
  recount = {slab, nullptr, nullptr, 0};
  const BlockList* detached = detached_list(cache, slab);
  if (detached == nullptr) return;
  recount.behind = slab->free_list;
  slab->free_list = detached->free_list;
  close_detached(cache, slab);
}

void end_recount(Recount& recount) noexcept {
  UnitLine* slab = recount.slab;
  recount_dropped(slab);
  slab->carved = static_cast<std::uint16_t>(slab->fresh - dropped_count(slab));
  slab->set_countdown(slab->carved - recount.count);
  slab->rest = 0;
  recount.slab = nullptr;
}

// False: the list continues.
bool recount_some(Recount& recount) noexcept {
  UnitLine* slab = recount.slab;
  Block* block = recount.last == nullptr ? slab->free_list : recount.last->next();
  for (std::uint32_t left = links_per_piece; left != 0; --left) {
    count_steps();
    if (block == nullptr) {
      if (recount.behind == nullptr) {
        end_recount(recount);
        return true;
      }
      block = recount.behind;
      recount.behind = nullptr;
      link_behind(slab, recount.last, block);
    }
    require_listed(slab, block);
    if (++recount.count > slab->fresh) stop_for_lost_blocks(slab);
    recount.last = block;
    block = block->next();
  }
  return false;
}

void enlist_noticed(ThreadCache* cache) noexcept {
  constexpr int most_notices = 4;
  for (int i = 0; i < most_notices; ++i) {
    count_steps();
    UnitLine* slab = take_notice(cache);
    if (slab == nullptr) return;
    clear_flag(slab, is_watched);
    if (!has_flag(slab, is_listed)) enlist(cache, slab);
  }
}

// Under the cache's `lists`.
bool settle_some(ThreadCache* cache, std::uint32_t size_class, std::uint32_t other_class) noexcept {
  enlist_noticed(cache);
  Recount& recount = cache->recount;
  if (recount.slab == nullptr) {
    const std::uint32_t own = cache->slots[size_class].first;
    const std::uint32_t first = own != 0 ? own : cache->slots[other_class].first;
    if (first == 0) return false;
    begin_recount(cache, line_of(first));
  }
  UnitLine* slab = recount.slab;
  if (!recount_some(recount)) return true;
  give_up(cache, slab);
  // The thread that should send its notice may not be in the child either.
  if (slot_of(cache, slab).first == unit_of(slab) && has_flag(slab, is_listed)) {
    leave_queue(cache, slab);
    join_queue(cache, slab);
  }
  return true;
}

bool may_have_blocks(const ThreadCache* cache, std::uint32_t size_class, std::uint32_t other_class) noexcept {
  if (!is_left_behind(cache)) return false;
  return has_slabs(cache, size_class) || has_slabs(cache, other_class) || has_notices(cache);
}

}  // namespace

bool settle_left_behind(std::uint32_t size_class, std::uint32_t other_class) noexcept {
  ThreadCache* const first = next_cache(next_look.load(std::memory_order_relaxed));
  ThreadCache* cache = first;
  for (int i = 0; i < most_looked_at; ++i) {
    count_steps();
    if (may_have_blocks(cache, size_class, other_class) && cache->lists.try_lock()) {
      const bool is_done = settle_some(cache, size_class, other_class);
      cache->lists.unlock();
      if (is_done) return true;
    }
    next_look.store(cache, std::memory_order_relaxed);
    cache = next_cache(cache);
    if (cache == first) break;
  }
  return false;
}

}  // namespace heapwright::heap
