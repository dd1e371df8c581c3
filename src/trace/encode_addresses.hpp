// SPDX-License-Identifier: MIT
// The encoder's pass over the addresses of a chunk.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/address_predictor.hpp"
#include "trace/encoder_columns.hpp"
#include "trace/event.hpp"
#include "trace/living_blocks.hpp"

namespace heapwright::trace {

// What the events of one chunk made, refer to, and state. The columns' ends
// are its own until encode() is through; the caller takes them back then.
class AddressPass {
 public:
  AddressPass(const EventBatch& batch, AddressPredictor& addresses, LivingBlocks& living, ColumnEnds made,
              ColumnEnds reference, ColumnEnds stated) noexcept
      : address_(batch.address.data()),
        old_address_(batch.old_address.data()),
        size_(batch.size.data()),
        usable_(batch.usable.data()),
        kind_(batch.kind.data()),
        addresses_(addresses),
        living_(living),
        made_(made),
        reference_(reference),
        stated_(stated) {}

  void encode(std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      const auto at = static_cast<BlockIndex>(i);
      const std::uint8_t facts = kind_facts[kind_[i]];
      if ((facts & KindFacts::refers) != 0) {
        const BlockIndex block = encode_reference(at, address_[i], (facts & KindFacts::keeps) == 0);
        encode_stated(i, facts, block);
      } else if ((facts & KindFacts::has_old) != 0) {
        encode_moved(at, encode_reference(at, old_address_[i], true));
      } else {
        encode_made(at);
      }
    }
  }

  const ColumnEnds& made() const noexcept { return made_; }
  const ColumnEnds& reference() const noexcept { return reference_; }
  const ColumnEnds& stated() const noexcept { return stated_; }

 private:
  // Releases state what the block's own event says, or nothing.
  void encode_stated(std::size_t i, std::uint8_t facts, BlockIndex block) noexcept {
    const bool is_known = block != no_block && (facts & KindFacts::stated) != 0;
    const std::uint64_t beyond = size_[i] - (is_known ? size_[block] : 0);
    if ((beyond | usable_[i]) == 0) [[likely]] {
      *stated_.code++ = 0;
      *stated_.wide++ = 0;
      return;
    }
    stated_.code = base::put_varint(stated_.code, base::zigzag_encode(static_cast<std::int64_t>(beyond)));
    stated_.put_wide(usable_[i]);
  }

  std::uint8_t code_of_living(BlockIndex at, BlockIndex block) noexcept {
    using namespace reference_code;
    if (addresses_.newest() == block) return 0;
    if (addresses_.cursor_newer() == block) return newer;
    if (addresses_.cursor_older() == block) return older;
    BlockIndex candidate = addresses_.newest();
    for (std::uint8_t rank = 1; rank < ranks && candidate != no_block; ++rank) {
      candidate = addresses_.made_before(candidate);
      if (candidate == block) return rank;
    }
    const std::uint32_t distance = static_cast<std::uint32_t>(at) - block;
    if (distance < near_limit) return static_cast<std::uint8_t>(first_near + distance);
    reference_.put_wide(distance);
    return far;
  }

  BlockIndex encode_reference(BlockIndex at, std::uint64_t address, bool is_gone) noexcept {
    using namespace reference_code;
    if (address == 0) {
      reference_.put(null);
      return no_block;
    }
    const BlockIndex block = living_.find(address);
    if (block == no_block) {
      const std::uint64_t delta = address - addresses_.last_elsewhere;
      addresses_.last_elsewhere = address;
      const bool is_aligned = (delta & 15U) == 0;
      reference_.put(is_aligned ? elsewhere : elsewhere_exact);
      const auto distance = static_cast<std::int64_t>(delta);
      reference_.put_wide_signed(is_aligned ? distance >> 4U : distance);
      return no_block;
    }
    reference_.put(code_of_living(at, block));
    if (is_gone) {
      addresses_.gone(block);
      living_.erase(block);
    }
    return block;
  }

  // realloc and mremap: `old_block` is what became of the old address.
  void encode_moved(BlockIndex at, BlockIndex old_block) noexcept {
    if (address_[at] == 0 || address_[at] != old_address_[at]) return encode_made(at);
    if (old_block != no_block) addresses_.forget_block(old_block);
    made_.put(made_code::in_place);
    addresses_.made(at, AddressPredictor::class_of(usable_[at]));
    living_.insert(at);
  }

  void encode_made(BlockIndex at) noexcept {
    using namespace made_code;
    const std::uint64_t address = address_[at];
    if (address == 0) return made_.put(null);
    const auto block_class = AddressPredictor::class_of(usable_[at]);
    BlockIndex candidate = addresses_.released(block_class);
    for (std::uint8_t rank = 0; rank < ranks && candidate != no_block; ++rank) {
      if (address_[candidate] == address) {
        addresses_.reuse(block_class, rank);
        made_.put(rank);
        addresses_.made(at, block_class);
        return living_.insert_in_place_of(candidate, at);
      }
      candidate = addresses_.released_before(candidate);
    }
    addresses_.forget(block_class);
    made_.put(code_of_fresh(address, usable_[at]));
    addresses_.made(at, block_class);
    living_.insert(at);
  }

  std::uint8_t code_of_fresh(std::uint64_t address, std::uint64_t usable) noexcept {
    using namespace made_code;
    const std::uint64_t difference = address - addresses_.fresh();
    const bool is_sequel = address == addresses_.sequel();
    addresses_.made_fresh(address, usable);
    if (is_sequel) return sequel;
    const auto distance = static_cast<std::int64_t>(difference);
    if ((difference & 15U) != 0) {
      made_.put_wide_signed(distance);
      return delta_exact;
    }
    const std::uint64_t folded = base::zigzag_encode(distance >> 4U);
    if (folded < near_limit) return static_cast<std::uint8_t>(first_near + folded);
    made_.put_wide(folded);
    return delta;
  }

  const std::uint64_t* address_;
  const std::uint64_t* old_address_;
  const std::uint64_t* size_;
  const std::uint64_t* usable_;
  const EventKind* kind_;
  AddressPredictor& addresses_;
  LivingBlocks& living_;
  ColumnEnds made_;
  ColumnEnds reference_;
  ColumnEnds stated_;  // code: stated_size, wide: stated_usable
};

}  // namespace heapwright::trace
