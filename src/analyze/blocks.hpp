// SPDX-License-Identifier: MIT
// The live blocks by address: open addressing, linear probing, 32 bytes a
// slot. A released block's slot keeps its address, since allocators hand the
// same addresses out again and again: the next acquisition finds it at once
// and nothing is ever shifted. Slots of addresses that do not come back are
// dropped when the table is rebuilt.
//
// Invariant: an address occurs in at most one slot; address 0 = free slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "analyze/realloc_chains.hpp"
#include "analyze/row.hpp"

namespace heapwright::analyze {

enum SlotFlag : std::uint16_t {
  slot_live = 1,
  slot_is_wide = 2,     // `size` is an index into the table of wide blocks
  slot_not_chosen = 4,  // filtered out
};

struct alignas(32) Slot {
  std::uint64_t address;
  std::uint64_t time_ns;  // when it became live
  std::uint32_t size;
  std::uint32_t stack;
  std::uint32_t lane;  // of the allocating thread
  std::uint16_t excess;
  std::uint16_t flags;
};
static_assert(sizeof(Slot) == 32);

// What does not fit a slot: large sizes, weights, realloc chains.
struct WideBlock {
  std::uint64_t size = 0;
  std::uint64_t excess = 0;
  std::uint64_t weight = 1;
  Chain chain;
};

// A block taken out of the table.
struct Block {
  std::uint64_t time_ns = 0;
  std::uint64_t size = 0;
  std::uint64_t excess = 0;
  std::uint64_t weight = 1;
  std::uint32_t stack = 0;
  std::uint32_t lane = 0;
  bool is_chosen = true;
};

class Blocks {
 public:
  Blocks();

  void prefetch(std::uint64_t address) const noexcept {
    __builtin_prefetch(&slots_.get()[home_of(address)], 1);
  }

  // The live block at `address`, or null.
  Slot* find(std::uint64_t address) noexcept {
    for (auto index = home_of(address);; index = (index + 1) & mask_) {
      auto& slot = slots_.get()[index];
      if (slot.address == address) {
        return (slot.flags & slot_live) != 0 ? &slot : nullptr;
      }
      if (slot.address == 0) {
        return nullptr;
      }
    }
  }

  // The slot for `address`: live if the address is in use, otherwise to be
  // filled by the caller. Precondition: address != 0. Valid until the next
  // claim.
  Slot& claim(std::uint64_t address) {
    for (auto index = home_of(address);; index = (index + 1) & mask_) {
      auto& slot = slots_.get()[index];
      if (slot.address == address) {
        return slot;
      }
      if (slot.address == 0) {
        return claim_free(slot, address);
      }
    }
  }

  // Wide blocks: an index to keep in Slot::size.
  std::uint32_t add_wide(const WideBlock& block);
  WideBlock& wide(const Slot& slot) noexcept { return wide_[slot.size]; }
  void remove_wide(const Slot& slot) { spare_wide_.push_back(slot.size); }

  // Calls visit(const Slot&) for every live block.
  template <class Visit>
  void for_each_live(Visit&& visit) const {
    for (std::size_t index = 0; index <= mask_; ++index) {
      const auto& slot = slots_.get()[index];
      if (slot.address != 0 && (slot.flags & slot_live) != 0) {
        visit(slot);
      }
    }
  }

 private:
  struct Release {
    std::size_t bytes = 0;
    void operator()(Slot* memory) const noexcept;
  };
  using Slots = std::unique_ptr<Slot, Release>;

  static Slots make_slots(std::size_t count);
  std::size_t home_of(std::uint64_t address) const noexcept {
    return static_cast<std::size_t>(((address >> 3) * 0x9e3779b97f4a7c15ULL) >> shift_);
  }
  Slot& claim_free(Slot& slot, std::uint64_t address);
  void rebuild();

  Slots slots_;
  std::size_t mask_ = 0;
  unsigned shift_ = 0;
  std::size_t used_ = 0;   // slots with an address, live or not
  std::size_t limit_ = 0;  // rebuild beyond
  std::vector<WideBlock> wide_;
  std::vector<std::uint32_t> spare_wide_;
};

}  // namespace heapwright::analyze
