// SPDX-License-Identifier: MIT
// Gives free pages of a slab back to the system.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/slabs/dropped_blocks.hpp"

namespace heapwright::heap {

// Gives back the pages that only free blocks touch, in steps that a call can
// bear: 512 blocks, and the pages of a unit with a call for each hole. The slab must be owned by the caller,
// with nothing watched, and is nobody else's until the last step.
class PagePurge {
 public:
  // False: no memory for a map, and nothing was changed.
  bool begin(UnitLine* slab) noexcept;
  // False: that was the last one.
  bool step() noexcept;
  // Null: none is under way.
  UnitLine* slab() const noexcept { return slab_; }
  std::size_t dropped_bytes() const noexcept { return dropped_bytes_; }

 private:
  void drop_some() noexcept;
  // False: some are left.
  bool relist_some(std::uint32_t most) noexcept;
  void end() noexcept;

  UnitLine* slab_;
  DroppedMap* map_;
  Chain listed_;
  Chain remote_;
  std::size_t page_;
  std::size_t dropped_bytes_;
  std::uint32_t word_;
  Block* tail_;
  std::uint64_t free_[slab_map_words];
};

// All steps. Returns the bytes given back.
std::size_t drop_free_pages(UnitLine* slab) noexcept;

}  // namespace heapwright::heap
