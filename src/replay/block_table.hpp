// SPDX-License-Identifier: MIT
// The live blocks of a recording by address: open addressing with linear probing. Removal leaves no tombstone
// (later blocks move up).
#pragma once

#include <cstddef>
#include <cstdint>

#include "order/mapped_array.hpp"

namespace heapwright::replay {

struct LiveBlock {
  std::uint64_t address = 0;  // 0: no block
  std::uint64_t size = 0;
  std::uint32_t slot = 0;
  std::uint32_t stack = 0;  // of the call that allocated it
};

class BlockTable {
 public:
  BlockTable() : places_(first_places) {}

  std::size_t size() const noexcept { return count_; }

  // Precondition: the address is not 0 and not in the table.
  void put(const LiveBlock& block) {
    if ((count_ + 1) * 4 > places_.size() * 3) grow();
    place(block);
    ++count_;
  }

  // Prefetch: the address will be inserted or removed soon, and a large table is not in the processor's
  // caches. Inline, because gcc drops calls of functions that only prefetch.
  [[gnu::always_inline]] void expect(std::uint64_t address) const noexcept {
    __builtin_prefetch(&places_[home(address)], 1);
  }

  // Removes and returns the block; its address is 0 if there was none.
  LiveBlock take(std::uint64_t address) noexcept {
    auto at = home(address);
    while (places_[at].address != address) {
      if (places_[at].address == 0) return {};
      at = next(at);
    }
    const LiveBlock found = places_[at];
    close_gap(at);
    --count_;
    return found;
  }

 private:
  static constexpr std::size_t first_places = 1024;

  std::size_t home(std::uint64_t address) const noexcept {
    return ((address >> 3U) * 0x9e3779b97f4a7c15ULL >> 20U) & (places_.size() - 1);
  }
  std::size_t next(std::size_t at) const noexcept { return (at + 1) & (places_.size() - 1); }

  void place(const LiveBlock& block) noexcept {
    auto at = home(block.address);
    while (places_[at].address != 0) at = next(at);
    places_[at] = block;
  }

  // Moves blocks into the gap that another block had pushed past it.
  void close_gap(std::size_t gap) noexcept {
    for (auto at = next(gap); places_[at].address != 0; at = next(at)) {
      const auto distance = (at - home(places_[at].address)) & (places_.size() - 1);
      if (distance < ((at - gap) & (places_.size() - 1))) continue;
      places_[gap] = places_[at];
      gap = at;
    }
    places_[gap] = {};
  }

  void grow() {
    order::MappedArray<LiveBlock> old(places_.size() * 2);
    old.swap(places_);
    for (std::size_t at = 0; at < old.size(); ++at) {
      if (old[at].address != 0) place(old[at]);
    }
  }

  order::MappedArray<LiveBlock> places_;
  std::size_t count_ = 0;
};

}  // namespace heapwright::replay
