// SPDX-License-Identifier: MIT
// The live blocks by address: an index (open addressing, linear probing, 8 bytes per entry) into slots that
// are in the order in which their addresses were first seen. Blocks allocated together are mostly freed
// together, so the slots are visited nearly in order, and the randomly accessed index is small. The slot of a
// freed block keeps its address, because allocators reuse addresses. Slots of addresses that are not reused
// are dropped when the index is rebuilt.
//
// Invariant: an address occurs in at most one slot; slot 0 has address 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyze/realloc_chains.hpp"
#include "analyze/row.hpp"
#include "order/mapped_array.hpp"

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

// Data that does not fit into a slot: large sizes, weights, realloc chains.
struct WideBlock {
  std::uint64_t size = 0;
  std::uint64_t excess = 0;
  std::uint64_t weight = 1;
  Chain chain;
};

// A block removed from the table.
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

  // A lookup in three steps some calls apart, to hide memory latency: `prefetch` the address's index entry if
  // the index is_large, `locate` its slot, then `find` or `claim` it.
  bool is_large() const noexcept { return mask_ >= large_places; }
  void prefetch(std::uint64_t address) const noexcept {
    __builtin_prefetch(&places_[hash_of(address) >> shift_]);
  }
  // A hint for the next two functions; 0 if there is no slot yet. Remains safe whatever happens to the table.
  std::uint32_t locate(std::uint64_t address) const noexcept {
    const auto hash = hash_of(address);
    for (auto index = hash >> shift_;; index = (index + 1) & mask_) {
      const auto place = places_[index];
      if (place.tag == static_cast<std::uint32_t>(hash) || place.slot == 0) {
        __builtin_prefetch(&slots_[place.slot], 1);
        return place.slot;
      }
    }
  }

  // The live block at `address`, or null. Precondition: address != 0.
  Slot* find(std::uint64_t address, std::uint32_t hint = 0) noexcept {
    auto& hinted = slots_[hint];
    auto* slot = hinted.address == address ? &hinted : look_up(address);
    return slot != nullptr && (slot->flags & slot_live) != 0 ? slot : nullptr;
  }

  const Slot* live_at(std::uint64_t address) const noexcept {
    return const_cast<Blocks*>(this)->find(address);
  }

  // The slot for `address`: live if the address is in use, otherwise for the caller to fill. Precondition:
  // address != 0. Valid until the next claim.
  Slot& claim(std::uint64_t address, std::uint32_t hint = 0) {
    auto& hinted = slots_[hint];
    return hinted.address == address ? hinted : look_up_or_make(address);
  }

  // Stores a wide block; returns its index, to keep in Slot::size.
  std::uint32_t add_wide(const WideBlock& block);
  WideBlock& wide(const Slot& slot) noexcept { return wide_[slot.size]; }
  const WideBlock& wide(const Slot& slot) const noexcept { return wide_[slot.size]; }
  std::uint64_t usable_bytes(const Slot& slot) const noexcept {
    if ((slot.flags & slot_is_wide) == 0) return std::uint64_t{slot.size} + slot.excess;
    return wide(slot).size + wide(slot).excess;
  }
  void remove_wide(const Slot& slot) { spare_wide_.push_back(slot.size); }

  // Calls visit(const Slot&) for every live block.
  template <class Visit>
  void for_each_live(Visit&& visit) const {
    for (std::size_t index = 1; index < slots_end_; ++index) {
      if ((slots_[index].flags & slot_live) != 0) {
        visit(slots_[index]);
      }
    }
  }

 private:
  struct Place {
    std::uint32_t tag;   // of the address: avoids most reads of other addresses' slots
    std::uint32_t slot;  // 0: free
  };

  // 512 KiB, which still fits into a core's own cache.
  static constexpr std::size_t large_places = std::size_t{1} << 16;

  static std::uint64_t hash_of(std::uint64_t address) noexcept {
    return (address >> 3) * 0x9e3779b97f4a7c15ULL;
  }
  Slot* look_up(std::uint64_t address) noexcept;
  Slot& look_up_or_make(std::uint64_t address);
  Slot& make_slot(Place& place, std::uint64_t address);
  void fit_index();
  void rebuild();
  void drop_dead_slots();

  order::MappedArray<Place> places_;
  order::MappedArray<Slot> slots_;
  std::size_t mask_ = 0;
  unsigned shift_ = 0;
  std::size_t slots_end_ = 1;
  std::size_t limit_ = 0;  // rebuild beyond this number of slots
  std::vector<WideBlock> wide_;
  std::vector<std::uint32_t> spare_wide_;
};

}  // namespace heapwright::analyze
