// SPDX-License-Identifier: MIT
// Predicts addresses from typical allocator behaviour: a new block is mostly a recently freed one, or the
// neighbour of the last fresh one; a freed block is mostly the newest live one, or the neighbour (by age) of
// the one freed before.
//
// A block is named by the index, within the chunk, of the event that allocated it. Encoder and decoder call
// made() and gone() for the same events in the same order and so hold the same lists; only the encoder must
// find blocks by address, so decoding is cheap. Whatever the codes, every resulting index is within the
// arrays; the caller must check that it is below the current event before using the block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/hashing.hpp"
#include "trace/format.hpp"

namespace heapwright::trace {

using BlockIndex = std::uint16_t;
inline constexpr BlockIndex no_block = max_events_per_chunk;
static_assert(max_events_per_chunk == 32768, "block indices and no_block fit 16 bits");

// Codes of the reference column. 0..15: that many steps from the newest live block towards the oldest.
namespace reference_code {
inline constexpr std::uint8_t ranks = 16;
inline constexpr std::uint8_t newer = 16;  // allocated right after the block freed before
inline constexpr std::uint8_t older = 17;  // allocated right before it
inline constexpr std::uint8_t null = 18;
inline constexpr std::uint8_t elsewhere = 19;  // not allocated in this chunk: address / 16, wide
inline constexpr std::uint8_t elsewhere_exact = 20;
inline constexpr std::uint8_t far = 21;         // events since the block was allocated, wide
inline constexpr std::uint8_t first_near = 22;  // the same, 1.. encoded in the code
inline constexpr std::uint32_t near_limit = 256 - first_near;
}  // namespace reference_code

// Codes of the made_address column. 0..7: that many steps into the list of freed blocks with the same usable
// size.
namespace made_code {
inline constexpr std::uint8_t ranks = 8;
inline constexpr std::uint8_t null = 8;
inline constexpr std::uint8_t in_place = 9;  // old_address
inline constexpr std::uint8_t sequel = 10;   // right after the last fresh block
inline constexpr std::uint8_t delta = 11;    // to the last fresh block / 16, wide
inline constexpr std::uint8_t delta_exact = 12;
inline constexpr std::uint8_t first_near = 13;  // delta / 16 encoded in the code, zigzag
inline constexpr std::uint32_t near_limit = 256 - first_near;
}  // namespace made_code

class AddressPredictor {
 public:
  using BlockClass = std::uint8_t;  // blocks of one usable size, or a few that share a class

  void reset() noexcept {
    newer_[no_block] = older_[no_block] = no_block;
    heads_.fill(no_block);
    cursor_newer_ = cursor_older_ = no_block;
    last_elsewhere = 0;
    fresh_ = 0;
    fresh_usable_ = 0;
    gap_ = 8;
  }

  static BlockClass class_of(std::uint64_t usable) noexcept {
    return static_cast<BlockClass>(base::hash_to_bits(usable, class_bits));
  }

  // The live block allocated before `block`, no_block before the oldest; the newest for no_block.
  BlockIndex made_before(BlockIndex block) const noexcept { return older_[block]; }
  BlockIndex newest() const noexcept { return older_[no_block]; }
  BlockIndex cursor_newer() const noexcept { return cursor_newer_; }
  BlockIndex cursor_older() const noexcept { return cursor_older_; }

  void made(BlockIndex block, BlockClass block_class) noexcept {
    const BlockIndex newest = older_[no_block];
    newer_[newest] = block;
    older_[block] = newest;
    newer_[block] = no_block;
    older_[no_block] = block;
    class_of_block_[block] = block_class;
  }

  void gone(BlockIndex block) noexcept {
    const BlockIndex newer = newer_[block];
    const BlockIndex older = older_[block];
    newer_[older] = newer;
    older_[newer] = older;
    cursor_newer_ = newer;
    cursor_older_ = older;
    BlockIndex& head = heads_[class_of_block_[block]];
    released_before_[block] = head;
    head = block;
  }

  // The block freed last in this class; no_block if there is none.
  BlockIndex released(BlockClass block_class) const noexcept { return heads_[block_class]; }
  BlockIndex released_before(BlockIndex block) const noexcept { return released_before_[block]; }

  // Removes the block `rank` steps down the list of its class and returns it; no_block if the list is
  // shorter.
  BlockIndex reuse(BlockClass block_class, unsigned rank) noexcept {
    BlockIndex* link = &heads_[block_class];
    for (; rank > 0 && *link != no_block; --rank) link = &released_before_[*link];
    const BlockIndex block = *link;
    if (block != no_block) *link = released_before_[block];
    return block;
  }

  // For an address that is on no list: the head of its class's list is not what the allocator takes next, so
  // it is dropped.
  void forget(BlockClass block_class) noexcept { reuse(block_class, 0); }
  // The old block of an in-place realloc was not freed.
  void forget_block(BlockIndex block) noexcept { forget(class_of_block_[block]); }

  std::uint64_t fresh() const noexcept { return fresh_; }
  std::uint64_t sequel() const noexcept { return fresh_ + fresh_usable_ + gap_; }
  void made_fresh(std::uint64_t address, std::uint64_t usable) noexcept {
    const std::uint64_t gap = address - fresh_ - fresh_usable_;
    if (gap <= max_gap_bytes) gap_ = gap;
    fresh_ = address;
    fresh_usable_ = usable;
  }

  std::uint64_t last_elsewhere = 0;

 private:
  static constexpr unsigned class_bits = 8;
  static constexpr std::uint64_t max_gap_bytes = 64;

  // Live blocks, by age: a ring through no_block. The cell of a block that was never allocated holds a stale
  // but valid index.
  std::array<BlockIndex, max_events_per_chunk + 1> newer_{};
  std::array<BlockIndex, max_events_per_chunk + 1> older_{};
  std::array<BlockIndex, max_events_per_chunk + 1> released_before_{};
  std::array<BlockClass, max_events_per_chunk + 1> class_of_block_{};
  std::array<BlockIndex, 1U << class_bits> heads_;
  BlockIndex cursor_newer_;
  BlockIndex cursor_older_;
  std::uint64_t fresh_;
  std::uint64_t fresh_usable_;
  std::uint64_t gap_;
};

}  // namespace heapwright::trace
