// SPDX-License-Identifier: MIT
// Which call stacks hold how much of the resident memory, at one moment of a replay in recorded order. A
// page belongs to the blocks on it, by the bytes that they have there: so what lies free between blocks
// counts for those that keep it. What is resident without any block is the allocator's own: free pages,
// caches, tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "figures/mapped_array.hpp"
#include "replay/stage.hpp"

namespace heapwright::replay {

class HeldMemory {
 public:
  struct OfStack {
    std::uint64_t blocks = 0;
    double bytes = 0;  // of pages
  };

  // Reads the plan up to where the lanes are, which stand still. Memory: one entry for each slot and stack.
  explicit HeldMemory(Stage& stage);

  // By the call stack that made a block, or moved it last.
  const std::vector<OfStack>& stacks() const noexcept { return stacks_; }
  // One line of JSON: resident_bytes as given, stacks (those with blocks), stack_blocks and stack_bytes.
  std::string json(std::uint64_t resident_bytes) const;

 private:
  struct Block {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::uint32_t stack = 0;
  };

  void find_blocks(Stage& stage, std::uint32_t lane);
  void add(const Operation& operation, std::uint32_t stack, const Slot& slot);
  void share_pages();
  std::size_t share_page(std::uintptr_t page, std::size_t first, bool is_resident);

  figures::MappedArray<Block> blocks_;
  std::size_t count_ = 0;
  std::vector<OfStack> stacks_;
};

}  // namespace heapwright::replay
