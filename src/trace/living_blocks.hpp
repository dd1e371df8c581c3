// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hashing.hpp"
#include "trace/address_predictor.hpp"

namespace heapwright::trace {

// Which living block of this chunk has an address: open addressing, erased by
// marking, sized for the chunk at hand.
class LivingBlocks {
 public:
  void start(std::size_t events, const std::uint64_t* addresses) {
    bits_ = static_cast<unsigned>(std::bit_width(events));
    slots_.assign(std::size_t{1} << bits_, free_slot);
    addresses_ = addresses;
  }

  BlockIndex find(std::uint64_t address) const noexcept {
    const std::uint32_t slot = slot_of(address);
    return slots_[slot] < no_block ? slots_[slot] : no_block;
  }

  void insert(BlockIndex block) noexcept { slots_[slot_of(addresses_[block])] = block; }

  void erase(BlockIndex block) noexcept {
    std::uint32_t hole = slot_of(addresses_[block]);
    const std::uint32_t mask = static_cast<std::uint32_t>(slots_.size() - 1);
    slots_[hole] = free_slot;
    for (std::uint32_t at = (hole + 1) & mask; slots_[at] != free_slot; at = (at + 1) & mask) {
      const std::uint32_t home = base::hash_to_bits(addresses_[slots_[at]], bits_);
      if (((at - home) & mask) < ((at - hole) & mask)) continue;
      slots_[hole] = slots_[at];
      slots_[at] = free_slot;
      hole = at;
    }
  }

 private:
  static constexpr BlockIndex free_slot = 0xffff;

  std::uint32_t slot_of(std::uint64_t address) const noexcept {
    const std::uint32_t mask = static_cast<std::uint32_t>(slots_.size() - 1);
    std::uint32_t slot = base::hash_to_bits(address, bits_);
    while (slots_[slot] != free_slot && addresses_[slots_[slot]] != address) slot = (slot + 1) & mask;
    return slot;
  }

  unsigned bits_ = 1;
  std::vector<BlockIndex> slots_;
  const std::uint64_t* addresses_ = nullptr;
};

}  // namespace heapwright::trace
