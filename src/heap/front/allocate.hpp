// SPDX-License-Identifier: MIT
// malloc and free as allocate() and release(). The fast paths are here, on one
// screen; src/heap/README.md explains them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/base/settings.hpp"
#include "heap/slabs/slab_line.hpp"
#include "heap/threads/caches.hpp"

// For entry points that are little more than a fast path: one or two lines of the
// instruction cache, not three.
#define HEAPWRIGHT_HOT_ENTRY __attribute__((hot, aligned(64)))

namespace heapwright::heap {

// The slow paths. All preserve errno, except that they set ENOMEM.
void* allocate_slowly(std::size_t bytes) noexcept;
void release_slowly(void* block) noexcept;
// The slab's countdown has reached 0.
void on_due_event(ThreadCache* cache, UnitLine* slab) noexcept;
void release_sized_slowly(void* block, std::size_t bytes, std::size_t alignment) noexcept;

// Null: take the slow path. It also reports a list that leads out of the heap because it
// was overwritten.
[[gnu::always_inline]] inline void* allocate_fast(std::size_t bytes) noexcept {
  if (bytes > small_limit_bytes) [[unlikely]] {
    return nullptr;
  }
  BlockList* const list = current_list(current_cache, step_of(bytes));
  Block* const block = list->free_list;
  return is_among_blocks(block) ? pop(list, block) : nullptr;
}

// Null with errno = ENOMEM when out of memory.
[[gnu::always_inline]] inline void* allocate(std::size_t bytes) noexcept {
  void* const block = allocate_fast(bytes);
  return block != nullptr ? block : allocate_slowly(bytes);
}

// Calls `otherwise` with pointers that are not for the fast path.
[[gnu::always_inline]] inline void release_or(void* pointer, auto otherwise) noexcept {
  const std::uintptr_t base = region.base;
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(pointer) - base;
  if (!is_used_offset(offset)) [[unlikely]] {
    return otherwise(pointer);
  }
  auto* const line = reinterpret_cast<UnitLine*>(base + (offset >> unit_shift) * line_bytes);
  if (line->owner.load(std::memory_order_relaxed) != current_cache) [[unlikely]] {
    return otherwise(pointer);
  }
  auto* const block = static_cast<Block*>(pointer);
  Block* const last = line->free_list;
  if (!may_begin_in(line, block) || last == block) [[unlikely]] {
    return otherwise(pointer);  // inside a block, or freed twice in a row
  }
  if (push(line, block, last)) [[unlikely]] {
    return on_due_event(line->owner.load(std::memory_order_relaxed), line);
  }
}

[[gnu::always_inline]] inline void release(void* pointer) noexcept { release_or(pointer, release_slowly); }
// In hardened mode no block is on the fast path, so only the slow path checks size and alignment.
[[gnu::always_inline]] inline void release_sized(void* pointer, std::size_t bytes,
                                                 std::size_t alignment = 1) noexcept {
  release_or(pointer, [=](void* block) { release_sized_slowly(block, bytes, alignment); });
}

std::size_t usable_bytes_slowly(void* block) noexcept;

// Inlined because some programs call it for every block (redis does).
[[gnu::always_inline]] inline std::size_t usable_bytes(void* block) noexcept {
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(block) - region.base;
  if (offset >= region.used_bytes.load(std::memory_order_relaxed)) [[unlikely]] {
    return usable_bytes_slowly(block);
  }
  const auto* line = reinterpret_cast<UnitLine*>(region.base + (offset >> unit_shift) * line_bytes);
  if (line->kind != UnitKind::slab || settings.is_hardened) [[unlikely]] {
    return usable_bytes_slowly(block);
  }
  return class_of_slab(line).block_bytes;
}

// As calloc, memalign and realloc. The caller checks sizes; alignments are powers of
// two.
void* allocate_zeroed(std::size_t bytes) noexcept;
void* allocate_aligned(std::size_t bytes, std::size_t alignment) noexcept;
void* reallocate(void* block, std::size_t bytes) noexcept;

}  // namespace heapwright::heap
