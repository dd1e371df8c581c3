// SPDX-License-Identifier: MIT
#include "heap/threads/remote_free.hpp"

#include <utility>

#include "heap/base/counting.hpp"
#include "heap/base/messages.hpp"
#include "heap/base/own_thread.hpp"
#include "heap/slabs/misuse.hpp"
#include "heap/slabs/mixed_slab.hpp"
#include "heap/slabs/partial_pool.hpp"
#include "heap/slabs/slab.hpp"
#include "heap/threads/thread_cache.hpp"
#include "platform/prefetch.hpp"

namespace heapwright::heap {

namespace {

void push_notice(ThreadCache* cache, UnitLine* slab) noexcept {
  std::uint32_t first = cache->notified.load(std::memory_order_relaxed);
  do {
    slab->second_next = first;
  } while (!cache->notified.compare_exchange_weak(first, unit_of(slab), std::memory_order_acq_rel,
                                                  std::memory_order_relaxed));
}

// The slab keeps its owner until this notice is handled, with one exception: a slab in the
// pool may be claimed meanwhile, and then the new owner gets the notice.
void tell_owner(UnitLine* slab) noexcept {
  count_reason(counters::Reason::remote_notice);
  if (slab->kind == UnitKind::mixed) return settle_mixed(slab);
  ThreadCache* owner = slab->owner.load(std::memory_order_acquire);
  if (owner == nullptr) {
    if (claim_this_slab(slab)) {
      clear_flag(slab, is_watched);
      return close_slab(slab);
    }
    owner = slab->owner.load(std::memory_order_acquire);
  }
  push_notice(owner, slab);
}

// After a free that may have been the last of a full slab: tells its cache, for threads that take such slabs
// over (take_over.hpp).
void note_if_returned(const UnitLine* slab, std::uint32_t capacity) noexcept {
  // The slab may have another owner by now; a wrong hint only costs its cache one more check.
  if (remote_of(slab).count() != capacity) return;
  ThreadCache* cache = slab->owner.load(std::memory_order_acquire);
  if (cache == nullptr || cache->has_returned.fetch_add(0, std::memory_order_acq_rel) != 0) return;
  note_waiting_memory();
  std::uint32_t none = 0;
  cache->has_returned.compare_exchange_strong(none, 1U + current_tick(), std::memory_order_acq_rel);
  note_waiting_memory();
}

}  // namespace

void free_remote(UnitLine* slab, void* block) noexcept {
  const auto offset = static_cast<std::size_t>(static_cast<char*>(block) - begin_of_slab(slab));
  char* const begin = begin_of_slab(slab);
  // After the push, the slab may have another owner.
  const std::uint32_t capacity = capacity_of_slab(slab);
  require_unlinked("free", slab, static_cast<const Block*>(block));
  RemoteWord word{slab->remote.load(std::memory_order_relaxed)};
  RemoteWord pushed{};
  do {
    count_steps();
    if (word.has_blocks() && word.head_offset() == offset) [[unlikely]] {
      stop_for_double_free(block, class_of_slab(slab).block_bytes);
    }
    static_cast<Block*>(block)->set_next(
        word.has_blocks() ? reinterpret_cast<Block*>(begin + word.head_offset()) : nullptr);
    pushed = word.pushed(offset);
  } while (!slab->remote.compare_exchange_weak(word.bits, pushed.bits, std::memory_order_acq_rel,
                                               std::memory_order_relaxed));
  if (pushed.is_armed()) return;
  if (word.is_armed()) {
    tell_owner(slab);
  } else if (pushed.count() != capacity) {
    return;
  }
  note_if_returned(slab, capacity);
}

namespace {

constexpr std::uint32_t most_delayed_bytes = 1024;

// Not for private heaps: they may be destroyed once their blocks are freed, and the memory be reused.
bool may_wait(const UnitLine* slab) noexcept {
  const ThreadCache* owner = slab->owner.load(std::memory_order_relaxed);
  return (owner == nullptr || !owner->is_private) && class_of_slab(slab).block_bytes <= most_delayed_bytes;
}

// If the block was freed a second time meanwhile, its slab may be closed and its memory reused.
void free_now(void* block) noexcept {
  UnitLine* const slab = head_line_of(block);
  if (slab != nullptr && slab->kind == UnitKind::mixed) return free_mixed(slab, block);
  if (slab == nullptr || slab->kind != UnitKind::slab) [[unlikely]] {
    stop_for_pointer("free", block);
  }
  require_block("free", slab, block);
  free_remote(slab, block);
}

}  // namespace

void free_remote_later(ThreadCache* cache, UnitLine* slab, void* block) noexcept {
  DelayedFrees& delayed = cache->delayed;
  if (!may_wait(slab)) return free_remote(slab, block);
  constexpr std::uint32_t capacity = DelayedFrees::capacity;
  if (delayed.blocks[(delayed.next - 1) % capacity] == block) [[unlikely]] {
    stop_for_double_free(block, class_of_slab(slab).block_bytes);
  }
  void* const oldest = std::exchange(delayed.blocks[delayed.next++ % capacity], block);
  platform::prefetch_for_writing(block);
  if (oldest != nullptr) free_now(oldest);
}

void free_delayed(ThreadCache* cache) noexcept {
  for (void*& place : cache->delayed.blocks) {
    count_steps();
    void* const block = std::exchange(place, nullptr);
    if (block != nullptr) free_now(block);
  }
}

}  // namespace heapwright::heap
