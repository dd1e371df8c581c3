// SPDX-License-Identifier: MIT
// Whether the blocks that an allocator hands out may be used: they are aligned, those of calloc are zeroed,
// and nothing else writes to them while they live. For that each block gets words of its own: in its begin
// and at each 4 KiB after it, where the replay writes anyway, so no page is touched for it. What lies in
// a large block between two such words is not seen. One thread at a time.
#pragma once

#include <cstdint>

#include "figures/mapped_array.hpp"
#include "replay/plan.hpp"
#include "replay/slot.hpp"

namespace heapwright::replay {

class BlockMarks {
 public:
  explicit BlockMarks(std::size_t slots) : marked_bytes_(slots) {}

  // Around a heap call about the slot, and after the touching of what it made. Each ends the process with
  // one line where a block may not be used. Precondition: no change serves blocks.
  void before(const Operation& operation, const Slot& slot) const noexcept;
  void after(const Operation& operation, const Slot& slot) noexcept;

 private:
  void check(std::uint32_t slot, void* block, std::uint64_t bytes) const noexcept;

  figures::MappedArray<std::uint64_t> marked_bytes_;  // by slot, from the block's begin; 0: it is not marked
};

}  // namespace heapwright::replay
