// SPDX-License-Identifier: MIT
// A slab: blocks of one class in a run of units, described by the line of its first unit.
// Only for the slab's owner (a thread's cache, a heap, or the holder of the pool's lock).
//
//   carved + blocks never carved + blocks dropped = capacity
//   countdown() = taken - freed
//   carved = blocks in free_list + countdown() + rest      (modulo 2^32)
//   countdown() + rest = blocks allocated + detached + in the remote list
//   blocks freed since they were counted = taken + counted - (countdown() + rest)
#pragma once

#include <cstdint>

#include "heap/pages/region.hpp"
#include "heap/slabs/remote_word.hpp"

namespace heapwright::heap {

// One bit for each possible block of a slab.
inline constexpr std::uint32_t slab_map_words = 8192 / 64;

inline const SizeClass& class_of_slab(const UnitLine* slab) noexcept {
  return size_classes[slab->size_class];
}
// Whether a block can begin there, in the first unit of the slab.
[[gnu::always_inline]] inline bool may_begin_in(const UnitLine* slab, const Block* block) noexcept {
  return is_multiple(region.start_factors[slab->size_class],
                     static_cast<std::uint16_t>(reinterpret_cast<std::uintptr_t>(block)));
}
inline char* begin_of_slab(const UnitLine* slab) noexcept { return memory_of(unit_of(slab)); }
inline std::uint32_t unlisted_count(const UnitLine* slab) noexcept {
  return slab->countdown() + static_cast<std::uint32_t>(std::int32_t{slab->rest});
}
inline void add_unlisted(UnitLine* slab, std::int32_t blocks) noexcept {
  slab->rest = static_cast<std::int16_t>(slab->rest + blocks);
}
inline std::uint32_t listed_count(const UnitLine* slab) noexcept {
  return slab->carved - unlisted_count(slab);
}
inline RemoteWord remote_of(const UnitLine* slab) noexcept {
  return {slab->remote.load(std::memory_order_acquire)};
}
// Whether every block in circulation is free; `detached` of them are in a list of the owner.
inline bool is_empty(const UnitLine* slab, std::uint32_t detached = 0) noexcept {
  return unlisted_count(slab) - detached == remote_of(slab).count();
}
// Mixed slabs (mixed_slab.hpp). From so many on, what is free in slabs is worth more to other sizes.
inline constinit std::atomic<std::uint32_t> mixed_slabs{0};
inline bool is_mixing() noexcept {
  constexpr std::uint32_t least = 64;
  return mixed_slabs.load(std::memory_order_relaxed) >= least;
}
// The number of live blocks up to which a slab is sparse: a sixth of its blocks, or half
// if each free block spans at least a page, or may serve other sizes.
inline std::uint32_t sparse_limit(const UnitLine* slab) noexcept {
  const bool is_half = class_of_slab(slab).block_bytes >= carve_bytes || is_mixing();
  return slab->carved / (is_half ? 2 : 6);
}
inline bool is_sparse(const UnitLine* slab, std::uint32_t detached = 0) noexcept {
  return unlisted_count(slab) - detached - remote_of(slab).count() <= sparse_limit(slab);
}
inline bool has_flag(const UnitLine* slab, SlabFlag flag) noexcept { return (slab->flags & flag) != 0; }
inline void set_flag(UnitLine* slab, SlabFlag flag) noexcept {
  slab->flags = static_cast<std::uint8_t>(slab->flags | flag);
}
inline void clear_flag(UnitLine* slab, SlabFlag flag) noexcept {
  slab->flags = static_cast<std::uint8_t>(slab->flags & ~flag);
}
inline std::uint32_t capacity_of_slab(const UnitLine* slab) noexcept {
  return capacity_of(slab->size_class, slab->units);
}
inline bool can_carve(const UnitLine* slab) noexcept {
  return slab->fresh < capacity_of_slab(slab) || slab->dropped != 0;
}

// Whether the next carving continues in a page that already has blocks.
inline bool carves_touched_page(const UnitLine* slab) noexcept {
  const SizeClass& described = class_of_slab(slab);
  return slab->dropped == 0 && slab->fresh < capacity_of_slab(slab) &&
         slab->fresh * std::size_t{described.block_bytes} % carve_bytes >= described.block_bytes;
}

// A null-terminated chain of blocks.
struct Chain {
  Block* first;
  std::uint32_t count;
};

// Removes the first block of a nonempty list.
[[gnu::always_inline]] inline Block* pop(BlockList* list, Block* first) noexcept {
  list->free_list = first->next();
  // So that a forked child never finds a list cut off at its first block (left_behind.hpp).
  std::atomic_signal_fence(std::memory_order_release);
  first->end_list();
  list->count_taken();
  return first;
}
// Adds a block in front of `last`, the first one. True: on_event() is due.
[[gnu::always_inline]] inline bool push(UnitLine* slab, Block* block, Block* last) noexcept {
  block->set_next(last);  // NOLINT(clang-analyzer-core.NullDereference): null is in no region
  // A forked child may find only the stores up to here (left_behind.hpp).
  std::atomic_signal_fence(std::memory_order_release);
  slab->free_list = block;
  return slab->count_freed();
}
// Puts a taken or carved chain into the empty free list.
inline void relist(UnitLine* slab, const Chain& chain) noexcept {
  slab->free_list = chain.first;
  add_unlisted(slab, -static_cast<std::int32_t>(chain.count));
}

inline std::uint32_t used_bytes(const UnitLine* slab) noexcept {
  return slab->fresh * class_of_slab(slab).block_bytes;
}

inline bool has_blocks(const UnitLine* slab) noexcept {
  return slab->free_list != nullptr || can_carve(slab) || remote_of(slab).has_blocks();
}

}  // namespace heapwright::heap
