// SPDX-License-Identifier: MIT
// One range of addresses holds every block, so that a block's record
// is found by arithmetic:
//
//   base                                  base + used_bytes   base + span_bytes
//   | lines: 64 bytes for each unit | units of 64 KiB ... | not used yet |
//
// A pointer is this heap's exactly if (pointer - base) < used_bytes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "heap/base/size_class.hpp"

namespace heapwright::heap {

struct ThreadCache;

// What a free block holds: the next one of its list, encoded with a key of the process and its own
// address. What a program writes there leads, decoded, out of the heap, where malloc does not follow.
// The same goes for what a block holds that is handed out: a list that comes to it again ends there.
class Block {
 public:
  Block* next() const noexcept;
  void set_next(Block* next) noexcept;
  void end_list() noexcept { link_ = end_link; }
  // The block whose end_link was decoded into `next`, if one was.
  static const Block* ended_by(const Block* next) noexcept;

 private:
  // One store without a look at the key, which would be known to whoever reads it in a new block.
  // Not 0, which programs write.
  static constexpr std::uintptr_t end_link = ~std::uintptr_t{0x5a3c1e68};
  std::uintptr_t mask() const noexcept;
  std::uintptr_t link_;
};

enum class UnitKind : std::uint8_t {
  inside = 0,     // not the first unit of anything
  slab,           // first unit of a slab
  slab_rest,      // another unit of a slab: `units` back to its first
  large,          // first unit of a block above slab_limit_bytes
  free_run,       // first unit of a free run
  free_run_last,  // last unit of a free run of two or more: `units` back to its first
};

// Written by one thread and read by others, where an old value is as good as
// the new one.
template <typename Value>
class Relaxed {
 public:
  operator Value() const noexcept { return value_.load(std::memory_order_relaxed); }
  Relaxed& operator=(Value value) noexcept {
    value_.store(value, std::memory_order_relaxed);
    return *this;
  }

 private:
  std::atomic<Value> value_;
};

enum SlabFlag : std::uint8_t {
  is_listed = 1,     // in its owner's queue of its class
  is_pooled = 2,     // in the shared pool of its class, without an owner
  is_kept = 4,       // sparse, but the only one of its class: no events
  is_candidate = 8,  // sparse: goes to the pool unless it is used again soon
  is_zeroed = 16,    // what was never carved holds zeros
  is_watched = 32,   // the owner asked for a notice and has not had it yet
  is_purged = 64,    // pooled, and its free pages were given back
  is_guarded = 128,  // the unit before is its, and out of reach
};
enum RunFlag : std::uint8_t { is_dirty = 1 };
enum LargeFlag : std::uint8_t {
  is_moved_large = 1,      // its pages came by mremap
  is_forbidden_large = 2,  // freed, and waits: its pages cannot be reached
  is_guarded_large = 4,    // the units before and behind are its, and out of reach
  is_at_end_large = 8,     // a short block, at the end of its pages
};

// Blocks that malloc takes from: of a slab those that its owner freed, or in a
// cache a list that others freed (DetachedLists).
struct BlockList {
  Block* free_list;
  // Slab: counted up by its owner's free, until it is `taken` and something may
  // have to be done. A count of its own, so that free need not wait for what
  // malloc has just written, nor malloc for free.
  std::uint32_t freed;
  Relaxed<std::uint32_t> taken;  // blocks handed out since they were last counted

  std::uint32_t countdown() const noexcept { return taken - freed; }
  void set_countdown(std::uint32_t count) noexcept { freed = taken - count; }
  // The countdown stays as it is.
  void add_taken(std::uint32_t blocks) noexcept {
    taken = taken + blocks;
    freed += blocks;
  }
  [[gnu::always_inline]] void count_taken() noexcept { taken = taken + 1; }
  // True: the countdown has reached 0.
  [[gnu::always_inline]] bool count_freed() noexcept { return ++freed == taken; }
};

// The record of a unit; of a slab, the list included, while it is one. While
// `owner` is a thread's cache, only that thread touches anything but `remote`;
// everyone may read `kind`, `size_class` and `units` while a block of the unit
// is live.
struct alignas(64) UnitLine : BlockList {
  std::atomic<ThreadCache*> owner;
  // Slab: blocks freed by others, see remote_word.hpp. Large, in hardened mode: the
  // size it was asked for with, and whether it was freed; sampled: whether it was freed.
  std::atomic<std::uint64_t> remote;
  union {
    struct {
      std::uint16_t carved;   // slab: blocks in circulation, live or free
      std::uint16_t counted;  // slab: blocks outside the list when they were last counted
    };
    std::uint32_t second_prev;  // free run: by age
    std::uint32_t moves;        // large and guarded: pages of so many mappings and one came into it
  };
  std::uint32_t units;
  union {
    struct {
      std::uint32_t next;  // slab: queue; free run: bin
      std::uint32_t prev;  //
    };
    std::size_t large_bytes;  // large: usable bytes
  };
  std::uint32_t second_next;  // slab: notified stack; free run: by age
  std::uint16_t size_class;
  Relaxed<UnitKind> kind;  // joining free runs looks at those beside them
  std::uint8_t flags;      // SlabFlag, RunFlag or LargeFlag
  std::uint16_t fresh;     // slab: blocks [0, fresh) were carved at least once
  std::int16_t rest;       // slab: countdown() + rest = carved - blocks in free_list (modulo 2^32)
  std::uint16_t stamp;     // maintenance ticks when it was freed or pooled
  std::uint16_t dropped;   // slab: number of its dropped-block map, 0: none
};
static_assert(sizeof(UnitLine) == 64);

// Read by every call and seldom written: shares its line with nothing.
struct alignas(64) Region {
  std::uintptr_t base;
  // Every block lies below base + used_bytes, and lines up to there can be
  // read; only grows. 0 until the first allocation.
  std::atomic<std::size_t> used_bytes;
  std::size_t span_bytes;
  // Where blocks can lie: behind the lines, up to base + used_bytes.
  std::uintptr_t first_block;
  std::atomic<std::size_t> block_bytes;
  std::uintptr_t link_key;
};
extern Region region;

inline std::uintptr_t Block::mask() const noexcept {
  return reinterpret_cast<std::uintptr_t>(this) ^ region.link_key;
}
inline Block* Block::next() const noexcept { return reinterpret_cast<Block*>(link_ ^ mask()); }
inline void Block::set_next(Block* next) noexcept { link_ = reinterpret_cast<std::uintptr_t>(next) ^ mask(); }
inline const Block* Block::ended_by(const Block* next) noexcept {
  return reinterpret_cast<const Block*>(reinterpret_cast<std::uintptr_t>(next) ^ end_link ^ region.link_key);
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
// The first one from `unit` on whose address is a multiple of so many units, a power of two.
inline std::uint32_t aligned_unit(std::uint32_t unit, std::uint32_t alignment_units) noexcept {
  const std::uintptr_t first = region.base >> unit_shift;
  const std::uintptr_t mask = std::uintptr_t{alignment_units} - 1;
  return static_cast<std::uint32_t>(((first + unit + mask) & ~mask) - first);
}
inline bool is_in_region(const void* pointer) noexcept {
  return reinterpret_cast<std::uintptr_t>(pointer) - region.base < region.span_bytes;
}
// Of a block that is the heap's.
[[gnu::always_inline]] inline bool is_used_offset(std::uintptr_t offset) noexcept {
  return offset < region.used_bytes.load(std::memory_order_relaxed);
}
// Lies where blocks do, and not among the lines.
[[gnu::always_inline]] inline bool is_among_blocks(const Block* block) noexcept {
  return reinterpret_cast<std::uintptr_t>(block) - region.first_block <
         region.block_bytes.load(std::memory_order_relaxed);
}
// The pointer is in the region.
inline UnitLine* line_at(const void* pointer) noexcept {
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(pointer) - region.base;
  return reinterpret_cast<UnitLine*>(region.base + (offset >> unit_shift) * line_bytes);
}

// The first line of the slab or large block that a block is of, which is the heap's.
inline UnitLine* line_of_block(const void* block) noexcept {
  UnitLine* line = line_at(block);
  return line->kind == UnitKind::slab_rest ? line - line->units : line;
}
// The first line of the slab or large block that `pointer` lies in; null where
// it lies in neither.
inline UnitLine* head_line_of(const void* pointer) noexcept {
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(pointer) - region.base;
  if (offset >= region.used_bytes.load(std::memory_order_relaxed)) return nullptr;
  UnitLine* line = line_at(pointer);
  if (line->kind == UnitKind::slab_rest) line -= line->units;
  return line->kind == UnitKind::slab || line->kind == UnitKind::large ? line : nullptr;
}

}  // namespace heapwright::heap
