// SPDX-License-Identifier: MIT
// Returns a slab's free pages to the kernel, or makes the slab mixed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/slabs/dropped_blocks.hpp"

namespace heapwright::heap {

// Returns the pages that only free blocks overlap, in steps short enough for a call: 512 blocks, and the
// pages of one unit, with a system call per hole. The caller must own the slab, unwatched, until the last
// step. A slab that is to be mixed is no longer the caller's after that.
class PagePurge {
 public:
  // False: no memory for a map, and nothing has changed.
  bool begin(UnitLine* slab, bool mixes = false) noexcept;
  // False: this was the last step.
  bool step() noexcept;
  // Null: no purge is under way.
  UnitLine* slab() const noexcept { return slab_; }
  bool mixes() const noexcept { return mixes_; }
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
  bool mixes_;
  std::uint64_t free_[slab_map_words];
};

// Runs all steps and returns the number of returned bytes.
std::size_t drop_free_pages(UnitLine* slab) noexcept;

}  // namespace heapwright::heap
