// SPDX-License-Identifier: MIT
// One address range holds every block, so that a block's record is found by
// arithmetic:
//
//   base                                  base + used_bytes   base + span_bytes
//   | lines: 64 bytes for each unit | units of 64 KiB ... | not used yet |
//
// A pointer is this heap's exactly if (pointer - base) < used_bytes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "heap/base/memory_operand.hpp"
#include "heap/base/size_class.hpp"

namespace heapwright::heap {

struct ThreadCache;

// A free block holds the link to the next one of its list, its bytes turned round, then encoded with a
// process key and the block's own address. An old link that a program copies unread from one block into
// another must not lead into that one's slab, as with the difference of two addresses it would.
// Data that a program writes there decodes to an address outside the heap, which malloc does not follow. An
// allocated block holds an end: a list that reaches it again ends there. So a block with a link to its slab
// was freed.
class Block {
 public:
  Block* next() const noexcept;
  void set_next(Block* next) noexcept;
  void end_list() noexcept { link_ = end_link; }
  // The block whose end_link was decoded into `next`, if one was.
  static const Block* ended_by(const Block* next) noexcept;

 private:
  // A constant, because an encoded link in a new block would reveal the key. Not 0, which programs
  // write.
  static constexpr std::uintptr_t end_link = ~std::uintptr_t{0x5a3c1e68};
  std::uintptr_t mask() const noexcept;
  std::uintptr_t link_;
};

enum class UnitKind : std::uint8_t {
  inside = 0,     // not the first unit of anything
  slab,           // first unit of a slab
  mixed,          // a former slab with blocks of any class (mixed_slab.hpp)
  slab_rest,      // later unit of a slab: `units` back to its first
  large,          // first unit of a block above slab_limit_bytes
  free_run,       // first unit of a free run
  free_run_last,  // last unit of a free run of two or more: `units` back to its first
};

enum SlabFlag : std::uint8_t {
  is_listed = 1,     // in its owner's queue of its class
  is_pooled = 2,     // in the shared pool of its class, without an owner
  is_kept = 4,       // sparse, but the only one of its class: no events
  is_candidate = 8,  // sparse: moves to the pool unless it is used again soon
  is_zeroed = 16,    // its uncarved part holds zeros
  is_watched = 32,   // the owner requested a notice and has not received it
  is_purged = 64,    // pooled, and its free pages were returned
  is_guarded = 128,  // the unit before is its guard
};
enum RunFlag : std::uint8_t { is_dirty = 1 };
enum LargeFlag : std::uint8_t {
  is_moved_large = 1,      // its pages came by mremap
  is_forbidden_large = 2,  // freed and quarantined: its pages are inaccessible
  is_guarded_large = 4,    // the units before and behind are its guards
  is_at_end_large = 8,     // a short block, at the end of its pages
};

// A list that malloc takes blocks from: blocks of a slab that its owner freed, or, in a
// cache, blocks that others freed (DetachedLists).
struct BlockList {
  Block* free_list;
  // Slab: incremented by its owner's frees; when it equals `taken`, an event is due. A
  // separate count, so that free need not wait for malloc's latest store, nor malloc for
  // free's.
  std::uint32_t freed;
  Relaxed<std::uint32_t> taken;  // blocks allocated since they were last counted

  std::uint32_t countdown() const noexcept { return taken - freed; }
  void set_countdown(std::uint32_t count) noexcept { freed = taken - count; }
  // Leaves the countdown unchanged.
  void add_taken(std::uint32_t blocks) noexcept {
    taken = taken + blocks;
    freed += blocks;
  }
  [[gnu::always_inline]] void count_taken() noexcept { add_one(taken); }
  // True: the countdown has reached 0.
  [[gnu::always_inline]] bool count_freed() noexcept { return is_equal(++freed, taken); }
};

// The record of a unit, or of the slab that begins with it. While `owner` is a thread's
// cache, other threads touch only `remote`, and may read `kind`, `size_class` and
// `units` while a block of the unit is live.
struct alignas(64) UnitLine : BlockList {
  std::atomic<ThreadCache*> owner;
  // Slab: blocks freed by others, see remote_word.hpp. Large, in hardened mode: the
  // requested size, and whether it was freed; sampled: whether it was freed.
  std::atomic<std::uint64_t> remote;
  union {
    struct {
      std::uint16_t carved;   // slab: blocks in circulation, live or free
      std::uint16_t counted;  // slab: blocks outside the list when they were last counted
    };
    std::uint32_t second_prev;  // free run: by age
    std::uint32_t moves;        // large and guarded: its number of mappings less one
  };
  Relaxed<std::uint32_t> units;  // also read by threads that take a mixed slab for what it was
  union {
    struct {
      std::uint32_t next;  // slab: queue; free run: bin
      std::uint32_t prev;  //
    };
    std::size_t large_bytes;  // large: usable bytes
  };
  std::uint32_t second_next;  // slab: notified stack; free run: by age
  std::uint16_t size_class;
  Relaxed<UnitKind> kind;  // also read when neighbouring runs are joined
  std::uint8_t flags;      // SlabFlag, RunFlag or LargeFlag
  std::uint16_t fresh;     // slab: blocks [0, fresh) were carved at least once
  std::int16_t rest;       // slab: countdown() + rest = carved - blocks in free_list (modulo 2^32)
  std::uint16_t stamp;     // tick when it was freed or pooled
  std::uint16_t dropped;   // slab: number of its dropped-block map; 0: none
};
static_assert(sizeof(UnitLine) == 64);

// Read by every call and seldom written: alone in its cache lines.
struct alignas(64) Region {
  std::uintptr_t base;
  // Every block lies below base + used_bytes, and the lines up to there are readable.
  // Only grows. 0 until the first allocation.
  std::atomic<std::size_t> used_bytes;
  std::size_t span_bytes;
  // Blocks lie behind the lines, up to base + used_bytes.
  std::uintptr_t first_block;
  std::atomic<std::size_t> block_bytes;
  std::uintptr_t link_key;
  // By size class. Here, because free has the address of the rest.
  std::array<std::uint32_t, class_count> start_factors;
};
extern Region region;

inline std::uintptr_t Block::mask() const noexcept {
  return reinterpret_cast<std::uintptr_t>(this) ^ region.link_key;
}
inline Block* Block::next() const noexcept {
  return reinterpret_cast<Block*>(__builtin_bswap64(link_ ^ mask()));
}
inline void Block::set_next(Block* next) noexcept {
  link_ = __builtin_bswap64(reinterpret_cast<std::uintptr_t>(next)) ^ mask();
}
inline const Block* Block::ended_by(const Block* next) noexcept {
  return reinterpret_cast<const Block*>(__builtin_bswap64(reinterpret_cast<std::uintptr_t>(next)) ^ end_link ^
                                        region.link_key);
}

inline constexpr std::size_t line_bytes = 64;

inline UnitLine* line_of(std::uint32_t unit) noexcept {
  return reinterpret_cast<UnitLine*>(region.base + unit * line_bytes);
}
inline std::uint32_t unit_of(const UnitLine* line) noexcept {
  return static_cast<std::uint32_t>((reinterpret_cast<std::uintptr_t>(line) - region.base) / line_bytes);
}
inline char* memory_of(std::uint32_t unit) noexcept {
  return reinterpret_cast<char*>(region.base + (static_cast<std::uintptr_t>(unit) << unit_shift));
}
// The first unit from `unit` on whose address is a multiple of `alignment_units`, a power of two.
inline std::uint32_t aligned_unit(std::uint32_t unit, std::uint32_t alignment_units) noexcept {
  const std::uintptr_t first = region.base >> unit_shift;
  const std::uintptr_t mask = std::uintptr_t{alignment_units} - 1;
  return static_cast<std::uint32_t>(((first + unit + mask) & ~mask) - first);
}
inline bool is_in_region(const void* pointer) noexcept {
  return reinterpret_cast<std::uintptr_t>(pointer) - region.base < region.span_bytes;
}
// Whether the offset is one of this heap.
[[gnu::always_inline]] inline bool is_used_offset(std::uintptr_t offset) noexcept {
  return is_below(offset, region.used_bytes);
}
// Whether it lies among the blocks, not among the lines.
[[gnu::always_inline]] inline bool is_among_blocks(const Block* block) noexcept {
  return is_below(reinterpret_cast<std::uintptr_t>(block) - region.first_block, region.block_bytes);
}
// Requires a pointer into the region.
inline UnitLine* line_at(const void* pointer) noexcept {
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(pointer) - region.base;
  return reinterpret_cast<UnitLine*>(region.base + (offset >> unit_shift) * line_bytes);
}

// The first line of the slab or large block that contains one of the heap's blocks.
inline UnitLine* line_of_block(const void* block) noexcept {
  UnitLine* line = line_at(block);
  return line->kind == UnitKind::slab_rest ? line - line->units : line;
}
// The first line of the slab or large block around `pointer`; null if there is neither.
inline UnitLine* head_line_of(const void* pointer) noexcept {
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(pointer) - region.base;
  if (offset >= region.used_bytes.load(std::memory_order_relaxed)) return nullptr;
  UnitLine* line = line_at(pointer);
  if (line->kind == UnitKind::slab_rest) line -= line->units;
  const UnitKind kind = line->kind;
  return kind == UnitKind::slab || kind == UnitKind::mixed || kind == UnitKind::large ? line : nullptr;
}

}  // namespace heapwright::heap
