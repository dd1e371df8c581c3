// SPDX-License-Identifier: MIT
// Checks that the blocks an allocator returns are usable: they are aligned, those of calloc are zeroed, and
// nothing else writes to them while they live. For that, each block gets its own marker words: at its start
// and every 4 KiB after it, where the replay writes anyway, so they touch no additional page. Writes between
// two marker words of a large block are not detected. One thread at a time.
#pragma once

#include <cstdint>

#include "figures/mapped_array.hpp"
#include "replay/plan.hpp"
#include "replay/slot.hpp"

namespace heapwright::replay {

class BlockMarks {
 public:
  explicit BlockMarks(std::size_t slots) : marked_bytes_(slots) {}

  // Called around a heap call for the slot, after touching the new block. Each ends the process with a
  // message if a block is not usable. Precondition: no change serves blocks.
  void before(const Operation& operation, const Slot& slot) const noexcept;
  void after(const Operation& operation, const Slot& slot) noexcept;

 private:
  void check(std::uint32_t slot, void* block, std::uint64_t bytes) const noexcept;

  figures::MappedArray<std::uint64_t> marked_bytes_;  // by slot, from the start of the block; 0: not marked
};

}  // namespace heapwright::replay
