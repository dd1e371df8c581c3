// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hashing.hpp"
#include "trace/address_predictor.hpp"

namespace heapwright::trace {

// Which living block of this chunk has an address: open addressing, sized for
// the chunk at hand. A slot stays with its address when the block dies, so
// nothing is ever moved; the next block at that address takes it over.
class LivingBlocks {
 public:
  // What `events` events can make; `addresses` by event, to outlive the use.
  void start(std::size_t events, const std::uint64_t* addresses) {
    bits_ = static_cast<unsigned>(std::bit_width(events));
    slots_.assign(std::size_t{1} << bits_, free_slot);
    if (slot_of_block_.size() < events) slot_of_block_.resize(events);
    addresses_ = addresses;
  }

  // no_block when no living block is there.
  BlockIndex find(std::uint64_t address) const noexcept {
    const BlockIndex value = slots_[slot_of(address)];
    return value < no_block ? value : no_block;
  }

  void insert(BlockIndex block) noexcept { put(block, slot_of(addresses_[block])); }

  // The same for a block at the address of an earlier one.
  void insert_in_place_of(BlockIndex earlier, BlockIndex block) noexcept {
    put(block, slot_of_block_[earlier]);
  }

  // The block must be the living one at its address.
  void erase(BlockIndex block) noexcept { slots_[slot_of_block_[block]] |= dead; }

 private:
  // A block's index has 15 bits. The last index with the dead bit would be a
  // free slot, but no event follows that could end the block of the last one.
  static constexpr BlockIndex dead = no_block;
  static constexpr BlockIndex free_slot = 0xffff;

  void put(BlockIndex block, std::uint32_t slot) noexcept {
    slots_[slot] = block;
    slot_of_block_[block] = slot;
  }

  std::uint32_t slot_of(std::uint64_t address) const noexcept {
    const BlockIndex* const slots = slots_.data();
    const auto mask = static_cast<std::uint32_t>(slots_.size() - 1);
    std::uint32_t slot = base::hash_to_bits(address, bits_);
    while (slots[slot] != free_slot && addresses_[slots[slot] & (dead - 1U)] != address)
      slot = (slot + 1) & mask;
    return slot;
  }

  unsigned bits_ = 1;
  std::vector<BlockIndex> slots_;
  std::vector<std::uint32_t> slot_of_block_;
  const std::uint64_t* addresses_ = nullptr;
};

}  // namespace heapwright::trace
