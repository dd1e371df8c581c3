// SPDX-License-Identifier: MIT
// Misuse detection without HEAPWRIGHT_HEAP_HARDENED, where checks cost nothing: off the
// fast paths, and in lists of free blocks that are touched anyway. docs/heap.md lists
// what is detected when.
//
// Messages give usable sizes, because requested sizes are unknown.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/slabs/slab_line.hpp"

namespace heapwright::heap {

// The line of the block of any size around `pointer`, which lies in the region; null:
// there is none. Reads every line from there back to the block's first, so it is only for
// messages and hardened mode.
UnitLine* line_around(const void* pointer) noexcept;

// For a pointer at which no live block begins: reports the block around it.
[[noreturn]] void stop_for_pointer(const char* function, const void* pointer) noexcept;

// Whether a block of the slab can begin there. Costs a multiplication; thread-safe.
inline bool is_block_of(const UnitLine* slab, const void* pointer) noexcept {
  const std::size_t offset =
      reinterpret_cast<std::uintptr_t>(pointer) - reinterpret_cast<std::uintptr_t>(begin_of_slab(slab));
  if (offset >= slab->units * unit_bytes) return false;
  const std::uint32_t index = block_index(slab->size_class, offset);
  return index < capacity_of_slab(slab) && index * std::size_t{class_of_slab(slab).block_bytes} == offset;
}

// `pointer` lies in `slab`. Stops the process unless a block can begin there.
inline void require_block(const char* function, const UnitLine* slab, const void* pointer) noexcept {
  if (!is_block_of(slab, pointer)) [[unlikely]] {
    stop_for_pointer(function, pointer);
  }
}

// As stop_for_freed().
[[noreturn, gnu::cold]] void stop_for_link_in(const char* function, const UnitLine* slab,
                                              const Block* block) noexcept;

// `block` is one of the slab's. Stops the process if it was freed: malloc overwrites the link of each block
// that it hands out, and other data is a link into the slab for one block in 2^50. Reads from the block;
// thread-safe.
inline void require_unlinked(const char* function, const UnitLine* slab, const Block* block) noexcept {
  const Block* const next = block->next();
  if (next == nullptr || is_block_of(slab, next)) [[unlikely]] {
    stop_for_link_in(function, slab, block);
  }
}

// Checks a list of the slab: each of its first `most` blocks, at most three, must be a
// block, be in the list once and link to the next. Three if the list is about to be
// allocated from; one if it is given up, because its other blocks are then not touched.
// For the slab's owner.
inline constexpr std::uint32_t most_checked = 3;
void check_list(const UnitLine* slab, Chain list, std::uint32_t most = most_checked) noexcept;

// `block` is the first of a list of the slab, so it must be one of its blocks.
void require_listed(const UnitLine* slab, const Block* block) noexcept;

// After a free into the slab's list: the freed pointer must be a block, and there cannot
// be more frees than blocks. For the slab's owner.
void check_last_free(const UnitLine* slab) noexcept;

[[noreturn, gnu::cold]] void stop_for_lost_blocks(const UnitLine* slab) noexcept;

// The slab's list is empty, so its count must be 0. For the slab's owner.
inline void check_nothing_listed(const UnitLine* slab) noexcept {
  if (listed_count(slab) != 0) [[unlikely]] {
    stop_for_lost_blocks(slab);
  }
}

// Removes the first blocks of the list, at most `most`, and marks them; a second mark is
// a double free. For maintenance.
void mark_some(const UnitLine* slab, Chain* list, std::uint32_t most, std::uint64_t* marks) noexcept;

}  // namespace heapwright::heap
