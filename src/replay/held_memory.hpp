// SPDX-License-Identifier: MIT
// The resident memory held by each call stack, at one point of a replay in recorded order. A page is shared
// among the blocks on it in proportion to their bytes there, so the free space between blocks counts for the
// blocks that pin it. Resident pages without any block belong to the allocator: free pages, caches, metadata.
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

  // Reads the plan up to the current position of the lanes, which must not run. Memory: one entry per slot
  // and per stack.
  explicit HeldMemory(Stage& stage);

  // By the call stack that allocated a block or last moved it.
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
