// SPDX-License-Identifier: MIT
// Misuse that is found without HEAPWRIGHT_HEAP_HARDENED, because looking for it
// costs nothing where it is looked for: off the fast paths, and in lists
// of free blocks that are touched anyway. docs/heap.md says what is found when.
//
// The blocks are named by their usable sizes: nothing here knows the size that
// was asked for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/slabs/slab_line.hpp"

namespace heapwright::heap {

// The line of the block of any size around `pointer`, which lies in the region;
// null: there is none. Looks at every line from there down to the block's
// first, so it is for messages and the hardened mode.
UnitLine* line_around(const void* pointer) noexcept;

// For a pointer that no live block begins at: names the block around it.
[[noreturn]] void stop_for_pointer(const char* function, const void* pointer) noexcept;

// `pointer` lies in `slab`. Stops the process unless a block can begin there;
// a multiplication. For any thread.
inline void require_block(const char* function, const UnitLine* slab, const void* pointer) noexcept {
  const auto offset = static_cast<std::size_t>(static_cast<const char*>(pointer) - begin_of_slab(slab));
  const std::uint32_t index = block_index(slab->size_class, offset);
  const bool is_begin = index * std::size_t{class_of_slab(slab).block_bytes} == offset;
  if (!is_begin || index >= capacity_of_slab(slab)) [[unlikely]] {
    stop_for_pointer(function, pointer);
  }
}

// A list of the slab's: each of its first `most`, three at most, must be a block,
// be in the list once and hold a link to the next. All three where the list is
// about to be handed out; one where it is given up, because the others are
// touched by nobody else any more. For the slab's owner.
inline constexpr std::uint32_t most_checked = 3;
void check_list(const UnitLine* slab, Chain list, std::uint32_t most = most_checked) noexcept;

// `block` is the first of a list of the slab's, so it must be one of its blocks.
void require_listed(const UnitLine* slab, const Block* block) noexcept;

// After a free into the slab's list: what was freed must be a block, and there
// can be no more frees than blocks. For the slab's owner.
void check_last_free(const UnitLine* slab) noexcept;

[[noreturn, gnu::cold]] void stop_for_lost_blocks(const UnitLine* slab) noexcept;

// The slab's list has no block, so there must be none by the count. For the slab's owner.
inline void check_nothing_listed(const UnitLine* slab) noexcept {
  if (listed_count(slab) != 0) [[unlikely]] {
    stop_for_lost_blocks(slab);
  }
}

// Takes the first blocks off the list, at most so many, and marks them; a second
// mark is a double free. For maintenance.
void mark_some(const UnitLine* slab, Chain* list, std::uint32_t most, std::uint64_t* marks) noexcept;

}  // namespace heapwright::heap
