// SPDX-License-Identifier: MIT
#include "heap/front/hardened.hpp"

#include <errno.h>

#include <algorithm>
#include <cstring>

#include "heap/base/checked_size.hpp"
#include "heap/base/messages.hpp"
#include "heap/base/system_pages.hpp"
#include "heap/front/foreign.hpp"
#include "heap/front/found_block.hpp"
#include "heap/pages/empty_blocks.hpp"
#include "heap/pages/large.hpp"
#include "heap/service/maintenance.hpp"
#include "heap/slabs/sealed_record.hpp"
#include "heap/threads/heap_object.hpp"
#include "heap/threads/quarantine.hpp"
#include "heap/threads/refill.hpp"

namespace heapwright::heap {

namespace {

// On average one small block in so many gets guard pages.
constexpr std::uint32_t blocks_per_sample = 5000;

// If two threads free a block at once, one finds it freed.
[[gnu::always_inline]] inline void mark_freed(const Found& block) noexcept {
  if (!block.record().change(block.value, block.value | freed_bit)) [[unlikely]] {
    stop_for_double_free(block.begin, block.bytes());
  }
  std::memset(block.begin, 0, block.room);
}

void mark_large_freed(const Found& block) noexcept {
  std::uint64_t expected = block.value;
  const std::uint64_t freed = block.value | freed_bit;
  if (!block.line->remote.compare_exchange_strong(expected, freed, std::memory_order_acq_rel)) {
    stop_for_double_free(block.begin, block.bytes());
  }
  withdraw_large(block.line);
}

// The fast path: a small block that is not of a private heap.
[[gnu::always_inline]] inline void release_whole(const Found& block) noexcept {
  mark_freed(block);
  ThreadCache* own = checked_cache->quarantine != nullptr ? checked_cache : cache_of_thread();
  put_in_quarantine(own, block.line, block.begin);
}

void release_found(const Found& block) noexcept {
  heapwright_heap* heap = private_heap_of(block.line);
  if (heap == nullptr && block.is_of_slab()) return release_whole(block);
  block.is_of_slab() ? mark_freed(block) : mark_large_freed(block);
  if (heap != nullptr) return quarantine_in(heap, block.line, block.begin);
  put_in_quarantine(cache_of_thread(), block.line, block.begin);
}

[[noreturn, gnu::cold]] void stop_for_write(char* begin, const SealedRecord& record) noexcept {
  Line line;
  line.text("write after free to the block ").address(begin);
  if (record.is_freed()) line.text(" of ").number(bytes_in(record.value())).text(" bytes");
  stop(line);
}

// For a slab's block, which holds zeros except for a link in front.
[[gnu::always_inline]] inline void* hand_out(void* memory, std::size_t bytes,
                                             std::size_t alignment) noexcept {
  auto* begin = static_cast<char*>(memory);
  const std::size_t usable = class_of_slab(line_of_block(begin)).block_bytes;
  SealedRecord record(begin, usable);
  std::memset(begin, 0, sizeof(Block));
  if (!is_zero_behind_link(begin, usable) || (record.raw() != 0 && !record.is_freed())) [[unlikely]] {
    stop_for_write(begin, record);
  }
  record.write(record_of(bytes, alignment));
  fill_slack(begin, bytes, usable - record_bytes);
  return begin;
}

void* no_memory() noexcept {
  errno = ENOMEM;
  return nullptr;
}

// Allocates a block with its own pages, between guard pages; a short one at their end. Null: no memory.
void* allocate_apart(std::size_t bytes, std::size_t alignment, ThreadCache* owner) noexcept {
  const LargeBlock block = allocate_guarded(std::max<std::size_t>(bytes, 1), alignment, owner);
  if (block.memory == nullptr) return nullptr;
  UnitLine* line = line_at(block.memory);
  line->remote.store(record_of(bytes, alignment), std::memory_order_relaxed);
  if (bytes <= small_limit_bytes && alignment <= 16) {
    line->flags = static_cast<std::uint8_t>(line->flags | is_at_end_large);
  }
  const Found made = find_large(line);
  std::memset(made.begin + bytes, slack_fill, made.room - bytes);
  return made.begin;
}

// Whether the thread's next small block gets guard pages.
bool is_sampled(Quarantine* quarantine) noexcept {
  if (quarantine == nullptr || quarantine->until_sample-- > 1) return false;
  quarantine->random = quarantine->random * 6364136223846793005U + 1442695040888963407U;
  quarantine->until_sample =
      1 + static_cast<std::uint32_t>(quarantine->random >> 33) % (2 * blocks_per_sample);
  return true;
}

// From the thread's current list for this size. Null: take the slow path.
void* allocate_listed(std::size_t bytes, std::size_t alignment) noexcept {
  Quarantine* quarantine = checked_cache->quarantine;
  if (bytes - 1 >= small_limit_bytes - record_bytes || alignment > 16 || quarantine == nullptr) {
    return nullptr;
  }
  BlockList* list = current_list(checked_cache, step_of(bytes + record_bytes));
  Block* block = list->free_list;
  if (quarantine->until_sample <= 1 || !is_among_blocks(block)) return nullptr;
  --quarantine->until_sample;
  return hand_out(pop(list, block), bytes, default_alignment);
}

// Moves a block's contents into a new one. False: no memory, and the new one is freed.
bool carry_over(const Found& old, char* moved, std::size_t bytes) noexcept {
  MovedBytes done{0, true};
  UnitLine* line = line_at(moved);
  if (!old.is_of_slab() && line->kind == UnitKind::large) done = move_guarded(old.line, line, bytes);
  if (!done.is_mapped) {
    release_found(find_large(line));
    return false;
  }
  std::memcpy(moved + done.bytes, old.begin + done.bytes, bytes - done.bytes);
  return true;
}

}  // namespace

void* hardened_allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (void* block = allocate_listed(bytes, alignment)) return block;
  give_back_if_due();
  if (is_too_big(bytes)) return no_memory();
  ThreadCache* cache = cache_of_thread();
  if (cache == nullptr) return hardened_allocate_in(late_heap(), bytes, alignment);
  if (bytes == 0 && alignment <= 16) {
    if (void* empty = take_empty(cache)) return empty;
  }
  alignment = std::max(alignment, default_alignment);
  const std::size_t needed = aligned_bytes(checked_sum(bytes, record_bytes), alignment);
  const bool is_short = bytes <= small_limit_bytes && alignment <= 16;
  void* block = nullptr;
  if (needed == 0 || (is_short && is_sampled(quarantine_of(cache)))) {
    block = allocate_apart(bytes, alignment, nullptr);
  } else if (void* memory = take_block(cache, class_of(needed))) {
    block = hand_out(memory, bytes, alignment);
  }
  if (block != nullptr) return block;
  return let_go_for(nullptr, bytes) ? hardened_allocate(bytes, alignment) : no_memory();
}

void* hardened_allocate_in(heapwright_heap* heap, std::size_t bytes, std::size_t alignment) noexcept {
  if (heap == nullptr || is_too_big(bytes)) return no_memory();
  alignment = std::max(alignment, default_alignment);
  const std::size_t whole_bytes = checked_sum(bytes, record_bytes);
  void* block = nullptr;
  if (aligned_bytes(whole_bytes, alignment) == 0) {
    block = allocate_apart(bytes, alignment, &heap->cache);
  } else if (void* memory = allocate_in(heap, whole_bytes, alignment)) {
    block = hand_out(memory, bytes, alignment);
  }
  if (block != nullptr) return block;
  return let_go_for(heap, bytes) ? hardened_allocate_in(heap, bytes, alignment) : no_memory();
}

namespace {

// A large or private heap's block, a freed one, an invalid pointer, or another allocator's block.
[[gnu::noinline]] void release_otherwise(void* block) noexcept {
  if (block == nullptr) return;
  if (!is_in_region(block)) return release_foreign(block);
  if (is_empty_block(block)) return free_empty_block(block);
  release_found(require_live("free", block));
}

}  // namespace

void hardened_release(void* block) noexcept {
  give_back_if_due();
  Found found;
  if (!find_whole(block, &found)) [[unlikely]] {
    return release_otherwise(block);
  }
  release_whole(found);
}

void hardened_release_sized(void* block, std::size_t bytes, std::size_t alignment) noexcept {
  const std::uint64_t made =
      is_empty_block(block) ? record_of(0, default_alignment) : find_live("free", block).value;
  Line line;
  if (bytes != unsaid_bytes && bytes != bytes_in(made)) {
    line.text("sized free of ").address(block).text(" with ").number(bytes);
    stop(line.text(" bytes, a block of ").number(bytes_in(made)).text(" bytes"));
  }
  alignment = std::max(alignment, default_alignment);
  if (alignment != alignment_in(made)) {
    line.text("free of ").address(block).text(" with an alignment of ").number(alignment);
    line.text(", a block of ").number(bytes_in(made)).text(" bytes with an alignment of ");
    stop(line.number(alignment_in(made)));
  }
  hardened_release(block);
}

void* hardened_reallocate(void* block, std::size_t bytes) noexcept {
  const bool was_empty = is_empty_block(block);
  if (was_empty) require_live_empty("realloc", block);
  const Found old = was_empty ? Found{} : find_live("realloc", block);
  void* moved = hardened_allocate(bytes, 16);
  if (moved == nullptr) return nullptr;
  if (was_empty) {
    free_empty_block(block);
  } else {
    if (!carry_over(old, static_cast<char*>(moved), std::min(bytes, old.bytes()))) return no_memory();
    release_found(old);
  }
  return moved;
}

std::size_t hardened_usable_bytes(void* block) noexcept {
  if (!is_empty_block(block)) return find_live("malloc_usable_size", block).bytes();
  require_live_empty("malloc_usable_size", block);
  return 0;
}

}  // namespace heapwright::heap
