// SPDX-License-Identifier: MIT
#include "heap/front/allocate.hpp"

#include <errno.h>

#include <algorithm>
#include <cstring>

#include "heap/base/checked_size.hpp"
#include "heap/base/counting.hpp"
#include "heap/base/settings.hpp"
#include "heap/base/system_pages.hpp"
#include "heap/front/foreign.hpp"
#include "heap/front/hardened.hpp"
#include "heap/pages/empty_blocks.hpp"
#include "heap/pages/large.hpp"
#include "heap/pages/sampled_large.hpp"
#include "heap/service/maintenance.hpp"
#include "heap/service/process.hpp"
#include "heap/slabs/misuse.hpp"
#include "heap/slabs/mixed_slab.hpp"
#include "heap/slabs/sealed_record.hpp"
#include "heap/threads/heap_object.hpp"
#include "heap/threads/refill.hpp"
#include "heap/threads/remote_free.hpp"
#include "heap/threads/slab_events.hpp"

namespace heapwright::heap {

namespace {

void* no_memory() noexcept {
  errno = ENOMEM;
  return nullptr;
}

// For threads whose cache is gone or that get none.
void* allocate_late(std::size_t bytes, std::size_t alignment) noexcept {
  heapwright_heap* heap = late_heap();
  return heap == nullptr ? nullptr : allocate_in(heap, bytes, alignment);
}

void* allocate_first(std::size_t bytes) noexcept {
  ThreadCache* cache = cache_of_thread();
  return cache == nullptr ? allocate_late(bytes, 16) : take_block(cache, class_of(bytes));
}

// Null if the thread has not allocated yet, or its exit handlers have run.
ThreadCache* own_cache() noexcept {
  ThreadCache* cache = current_cache;
  return cache != &no_cache_yet && cache != &cache_given_up ? cache : nullptr;
}

void count_for(ThreadCache* cache, counters::Reason reason) noexcept {
  if (cache == nullptr) return count_reason(reason);
  cache->count(reason);
}

// Above slab_limit_bytes.
LargeBlock allocate_long(std::size_t bytes) noexcept {
  ThreadCache* cache = cache_of_thread();
  count_for(cache, counters::Reason::large_allocate);
  if (cache == nullptr) return allocate_large(bytes, 1, nullptr);
  LargeBlock block = allocate_sampled(bytes, &cache->large_left);
  if (block.memory == nullptr) block = allocate_kept(bytes, &cache->kept);
  return block.memory != nullptr ? block : allocate_large(bytes, 1, nullptr);
}

}  // namespace

void* allocate_slowly(std::size_t bytes) noexcept {
  const StepScope scope;
  if (settings.is_hardened) return hardened_allocate(bytes, default_alignment);
  ThreadCache* cache = own_cache();
  give_back_if_due();
  // A thread has a cache only in a process that is initialized and not hardened.
  if (bytes <= slab_limit_bytes && cache != nullptr) {
    void* const block = take_block(cache, class_of(bytes));
    return block != nullptr ? block : no_memory();
  }
  if (!initialize_process()) return no_memory();
  // The process's first call has just read that setting.
  if (settings.is_hardened) return hardened_allocate(bytes, default_alignment);
  void* const block = bytes > slab_limit_bytes ? allocate_long(bytes).memory : allocate_first(bytes);
  return block != nullptr ? block : no_memory();
}

void* allocate_zeroed(std::size_t bytes) noexcept {
  if (bytes > slab_limit_bytes && initialize_process() && !settings.is_hardened) {
    const LargeBlock block = allocate_long(bytes);
    if (block.memory == nullptr) return no_memory();
    if (block.is_zeroed) return block.memory;
    if (bytes <= huge_bytes) return std::memset(block.memory, 0, bytes);
    drop_pages(block.memory, checked_round_up(bytes, unit_bytes));  // who asks for so much may use little
    return block.memory;
  }
  void* block = allocate(bytes);
  if (block == nullptr || settings.is_hardened) return block;  // hardened: already zeroed
  return std::memset(block, 0, bytes);
}

void* allocate_aligned(std::size_t bytes, std::size_t alignment) noexcept {
  const StepScope scope;
  if (!initialize_process()) return no_memory();
  if (settings.is_hardened) return hardened_allocate(bytes, alignment);
  const std::size_t needed = aligned_bytes(bytes, alignment);
  void* block = nullptr;
  if (needed == 0) {
    block = allocate_large(bytes, alignment, nullptr).memory;
  } else if (ThreadCache* cache = cache_of_thread()) {
    block = take_block(cache, class_of(needed));
  } else {
    block = allocate_late(bytes, alignment);
  }
  return block != nullptr ? block : no_memory();
}

namespace {

// `line` is the first line of the slab or large block around `pointer`.
[[gnu::always_inline]] inline void require_begin(const char* function, const UnitLine* line,
                                                 const void* pointer) noexcept {
  const UnitKind kind = line->kind;  // a slab may become mixed meanwhile
  if (kind == UnitKind::slab) {
    require_block(function, line, pointer);
  } else if (kind == UnitKind::mixed) {
    mixed_block_bytes(function, line, pointer);
  } else if (pointer != memory_of(unit_of(line)) || (line->flags & is_forbidden_large) != 0) {
    stop_for_pointer(function, pointer);
  }
}

// As require_begin(), and of a slab only a block that was not freed. Reads from the block, which free leaves
// to the moment when it writes there: another thread's block may be in that one's processor.
void require_in_use(const char* function, const UnitLine* line, const void* pointer) noexcept {
  require_begin(function, line, pointer);
  if (line->kind == UnitKind::slab) require_unlinked(function, line, static_cast<const Block*>(pointer));
}

// For a pointer outside all slabs and large blocks.
void require_empty(const char* function, const void* pointer) noexcept {
  if (!is_empty_block(pointer)) stop_for_pointer(function, pointer);
  require_live_empty(function, pointer);
}

void release_large(UnitLine* line, void* block) noexcept {
  ThreadCache* cache = cache_of_thread();
  count_for(cache, counters::Reason::large_free);
  if (is_sampled_large(line)) {
    if (!free_sampled(line)) stop_for_pointer("free", block);
    return;
  }
  if (line->large_bytes > huge_bytes) make_room_for_dirty(line->large_bytes);
  free_large(line, cache != nullptr ? &cache->kept : nullptr);
}

void release_remote(UnitLine* slab, void* block) noexcept {
  // Also for threads that only free.
  ThreadCache* cache = cache_of_thread();
  // A cross-thread free costs little more than reading the clock.
  constexpr std::uint64_t frees_between_looks = 64;
  if (cache == nullptr) return free_remote(slab, block);
  if (cache->count(counters::Reason::remote_free) % frees_between_looks == 0) give_back_if_due();
  free_remote_later(cache, slab, block);
}

}  // namespace

// Another thread's block, a large block, an invalid pointer, or another allocator's block.
void release_slowly(void* block) noexcept {
  const StepScope scope;
  if (settings.is_hardened) return hardened_release(block);
  if (block == nullptr) return;
  if (!is_in_region(block)) return release_foreign(block);
  UnitLine* line = head_line_of(block);
  if (line == nullptr) {
    require_empty("free", block);
    return free_empty_block(block);
  }
  if (line->kind == UnitKind::mixed) return free_mixed(line, block);
  require_begin("free", line, block);
  if (line->kind == UnitKind::large) {
    release_large(line, block);
    return give_back_if_due();
  }
  ThreadCache* cache = own_cache();
  if (cache == nullptr || line->owner.load(std::memory_order_relaxed) != cache) {
    return release_remote(line, block);
  }
  free_listed(cache, line, block);
  give_back_if_due();
}

void on_due_event(ThreadCache* cache, UnitLine* slab) noexcept {
  const StepScope scope;
  on_event(cache, slab);
  give_back_if_due();
}

void release_sized_slowly(void* block, std::size_t bytes, std::size_t alignment) noexcept {
  if (block != nullptr && settings.is_hardened) return hardened_release_sized(block, bytes, alignment);
  release_slowly(block);
}

std::size_t usable_bytes_slowly(void* block) noexcept {
  if (block == nullptr) return 0;
  if (!is_in_region(block)) return usable_bytes_of_foreign(block);
  if (settings.is_hardened) return hardened_usable_bytes(block);
  const UnitLine* line = head_line_of(block);
  if (line == nullptr) {
    require_empty("malloc_usable_size", block);
    return 0;
  }
  if (line->kind == UnitKind::mixed) return mixed_block_bytes("malloc_usable_size", line, block);
  require_in_use("malloc_usable_size", line, block);
  return line->kind == UnitKind::large ? line->large_bytes : class_of_slab(line).block_bytes;
}

namespace {

void* copy_to(std::size_t bytes, void* block, std::size_t old_bytes) noexcept {
  const bool is_large_growth = bytes > old_bytes && bytes > slab_limit_bytes;
  void* moved = is_large_growth ? allocate_grown(bytes, old_bytes) : allocate(bytes);
  if (moved == nullptr) return is_large_growth ? no_memory() : nullptr;
  std::memcpy(moved, block, std::min(bytes, old_bytes));
  release(block);
  return moved;
}

}  // namespace

void* reallocate(void* block, std::size_t bytes) noexcept {
  if (!is_in_region(block)) return reallocate_foreign(block, bytes);
  if (settings.is_hardened) return hardened_reallocate(block, bytes);
  UnitLine* line = head_line_of(block);
  if (line == nullptr) {
    require_empty("realloc", block);
    return copy_to(bytes, block, 0);
  }
  require_in_use("realloc", line, block);
  if (line->kind == UnitKind::large) {
    if (void* resized = resize_large(line, bytes)) return resized;
    return copy_to(bytes, block, line->large_bytes);
  }
  const bool is_mixed = line->kind == UnitKind::mixed;
  const std::size_t usable =
      is_mixed ? mixed_block_bytes("realloc", line, block) : class_of_slab(line).block_bytes;
  // In place if it fits and wastes no more than half of the block.
  if (bytes <= usable && (bytes >= usable / 2 || usable <= 32)) return block;
  return copy_to(bytes, block, usable);
}

}  // namespace heapwright::heap
