// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hashing.hpp"
#include "trace/address_predictor.hpp"

namespace heapwright::trace {

// Finds the live block of this chunk at an address: open addressing over the blocks that outlive the next
// allocation. The newest block is not in the table yet: most die before another is allocated, and cost
// nothing. A slot keeps its address when its block dies, so the next block at that address takes it over;
// blocks move only when the table grows.
class LivingBlocks {
 public:
  // Starts a new chunk; sized by the needs of the previous chunk.
  void start() {
    const std::size_t wanted = std::max<std::size_t>(least_slots, std::bit_ceil(used_slots_ * 2 + 1));
    slots_.assign(wanted, free_slot);
    bits_ = static_cast<unsigned>(std::countr_zero(wanted));
    used_slots_ = 0;
    newest_ = no_block;
  }

  std::uint64_t address_of(BlockIndex block) const noexcept { return addresses_[block]; }

  // The live block at `address`; no_block if there is none, or only the newest.
  BlockIndex find(std::uint64_t address) const noexcept {
    const BlockIndex value = slots_[slot_of(address)];
    return value < no_block ? value : no_block;
  }

  [[gnu::always_inline]] void made(BlockIndex block, std::uint64_t address) {
    if (newest_ != no_block) put(newest_);
    newest_ = block;
    addresses_[block] = address;
    slot_of_block_[block] = no_slot;
  }

  // The same for a block at the address of an earlier one.
  void made_in_place_of(BlockIndex earlier, BlockIndex block) {
    made(block, addresses_[earlier]);
    slot_of_block_[block] = slot_of_block_[earlier];
  }

  // The block must be live.
  void gone(BlockIndex block) noexcept {
    if (block == newest_) {
      newest_ = no_block;
    } else if (slot_of_block_[block] != no_slot) {
      slots_[slot_of_block_[block]] |= dead;
    }
  }

 private:
  // A block's index has 15 bits. The last index with the dead bit would look like a free slot, but no later
  // event in the chunk could end the last event's block.
  static constexpr BlockIndex dead = no_block;
  static constexpr BlockIndex free_slot = 0xffff;
  static constexpr std::uint32_t no_slot = 0xffffffffU;
  static constexpr std::size_t least_slots = 1024;

  [[gnu::noinline]] void put(BlockIndex block) {
    std::uint32_t slot = slot_of_block_[block];
    if (slot == no_slot) {
      slot = slot_of(addresses_[block]);
      used_slots_ += slots_[slot] == free_slot ? 1 : 0;
      slot_of_block_[block] = slot;
    }
    slots_[slot] = block;
    if (used_slots_ * 2 > slots_.size()) [[unlikely]] {
      grow(block);
    }
  }

  std::uint32_t slot_of(std::uint64_t address) const noexcept {
    const BlockIndex* const slots = slots_.data();
    const auto mask = static_cast<std::uint32_t>(slots_.size() - 1);
    std::uint32_t slot = base::hash_to_bits(address, bits_);
    while (slots[slot] != free_slot && addresses_[slots[slot] & (dead - 1U)] != address) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  // `last` is the newest block in the table. A block whose address another one has taken over gets no slot.
  void grow(BlockIndex last) {
    std::vector<BlockIndex> old(slots_.size() * 4, free_slot);
    old.swap(slots_);
    bits_ += 2;
    used_slots_ = 0;
    std::fill_n(slot_of_block_.begin(), last + 1, no_slot);
    for (const BlockIndex block : old) {
      if (block >= no_block) continue;
      const std::uint32_t slot = slot_of(addresses_[block]);
      slots_[slot] = block;
      slot_of_block_[block] = slot;
      ++used_slots_;
    }
  }

  std::vector<BlockIndex> slots_;
  std::size_t used_slots_ = 0;
  unsigned bits_ = 0;
  BlockIndex newest_ = no_block;  // live, and in no slot; no_block: the newest is in the table or dead
  std::array<std::uint32_t, max_events_per_chunk> slot_of_block_;
  // address_of(no_block) is 0, which no event has.
  std::array<std::uint64_t, max_events_per_chunk + 1> addresses_{};
};

}  // namespace heapwright::trace
