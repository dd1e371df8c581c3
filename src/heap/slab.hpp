// SPDX-License-Identifier: MIT
// A slab: blocks of one class in a run of units, described by the line of its
// first unit. Everything here is for the slab's owner (a thread's cache, a
// heap, or whoever holds the pool's lock).
//
//   carved + blocks never carved + blocks dropped = capacity
//   countdown() = taken - freed
//   carved = blocks in free_list + countdown() + rest      (modulo 2^32)
//   countdown() + rest = blocks handed out + detached + in the remote list
//   blocks freed since they were counted = taken + counted - (countdown() + rest)
#pragma once

#include <cstdint>

#include "heap/page_source.hpp"
#include "heap/region.hpp"
#include "heap/remote_word.hpp"

namespace heapwright::heap {

inline const SizeClass& class_of_slab(const UnitLine* slab) noexcept {
  return size_classes[slab->size_class];
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
// Every block in circulation is free; `detached` of them are in a list of the owner's.
inline bool is_empty(const UnitLine* slab, std::uint32_t detached = 0) noexcept {
  return unlisted_count(slab) - detached == remote_of(slab).count();
}
// Live blocks up to which a slab is sparse: a sixth of them, or half where each
// free block is worth a page to the system.
inline std::uint32_t sparse_limit(const UnitLine* slab) noexcept {
  return slab->carved / (class_of_slab(slab).block_bytes < carve_bytes ? 6 : 2);
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

// The next carving goes on in a page that has blocks already.
inline bool carves_touched_page(const UnitLine* slab) noexcept {
  const SizeClass& described = class_of_slab(slab);
  return slab->dropped == 0 && slab->fresh < capacity_of_slab(slab) &&
         slab->fresh * std::size_t{described.block_bytes} % carve_bytes >= described.block_bytes;
}

// A chain of blocks, the last one's `next` null.
struct Chain {
  Block* first;
  std::uint32_t count;
};

// A new slab with no block carved, in a run of `units`, owned by `owner`.
UnitLine* open_slab(Run run, std::uint32_t size_class, std::uint32_t units, ThreadCache* owner) noexcept;
// No block of the slab is in use. Its memory goes back to the page source.
void close_slab(UnitLine* slab) noexcept;

// The first block of a list, which is not empty.
[[gnu::always_inline]] inline Block* pop(BlockList* list, Block* first) noexcept {
  list->free_list = first->next;
  list->count_taken();
  return first;
}
// A block in front of `last`, the first one. True: on_event() has to look.
[[gnu::always_inline]] inline bool push(UnitLine* slab, Block* block, Block* last) noexcept {
  block->next = last;  // NOLINT(clang-analyzer-core.NullDereference): null is in no region
  slab->free_list = block;
  return slab->count_freed();
}
// Puts a chain that was taken or carved into the free list, which is empty.
inline void relist(UnitLine* slab, const Chain& chain) noexcept {
  slab->free_list = chain.first;
  add_unlisted(slab, -static_cast<std::int32_t>(chain.count));
}

// All blocks of the free list.
Chain take_listed(UnitLine* slab) noexcept;
// All blocks that others freed.
Chain take_remote(UnitLine* slab) noexcept;
// The opposite, of blocks that were taken; false: others freed some meanwhile.
bool put_remote(UnitLine* slab, const Chain& chain) noexcept;
// Blocks not in circulation: one that begins an untouched page, which it does
// not touch, or else the rest of a page. Never more than carve_bytes' worth.
Chain carve(UnitLine* slab) noexcept;

// Sets the next event: the count of blocks outside at which on_event() has to look.
void schedule_event(UnitLine* slab, std::uint32_t detached = 0) noexcept;

// From now on a remote free that makes the remote list `count` long tells the
// owner. False, and nothing changed: it is that long already.
bool watch(UnitLine* slab, std::uint32_t count) noexcept;
// False: a notice is under way, and the slab must stay with its owner until it
// has arrived.
bool unwatch(UnitLine* slab) noexcept;
// What both do, with one compare-and-swap. Unless it is armed now, a watch from
// before stays as it was; told: a notice is under way.
enum class Watch : std::uint8_t { armed, reached, told };
Watch rewatch(UnitLine* slab, std::uint32_t count) noexcept;

// The equations above, and every free block inside, on a block's boundary and
// once. For tests; no other thread may use the slab.
bool slab_is_valid(const UnitLine* slab) noexcept;

}  // namespace heapwright::heap
