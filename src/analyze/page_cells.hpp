// SPDX-License-Identifier: MIT
// How full the heap's pages are at one scan, in cells of several pages, and next to which stacks' blocks
// there is free space.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "analyze/facts/page_cells.hpp"

namespace heapwright::analyze {

class PageCells {
 public:
  // cell_bytes: whole pages; 0: collects nothing.
  explicit PageCells(std::uint64_t cell_bytes) : cell_bytes_(cell_bytes) {}

  // A part of a live block on the current page; blocks and pages in order of address.
  void add_block(std::uint64_t page, std::uint64_t block, std::uint32_t site, std::uint32_t stack,
                 std::uint64_t bytes);
  // Called after the blocks of a page.
  void end_page(std::uint64_t page, std::uint64_t page_bytes, std::uint64_t free_bytes);
  // A page of the heap without a live block.
  void add_free_page(std::uint64_t page, std::uint64_t page_bytes);
  // Appends the rows, by address and by stack.
  void finish(std::uint32_t scan, std::vector<PageCell>& cells, std::vector<PathPin>& pins);

 private:
  struct Share {
    std::uint32_t number = 0;  // of a site or stack
    std::uint64_t bytes = 0;
  };

  void settle_cell();

  std::uint64_t cell_bytes_;
  std::map<std::uint64_t, PageCell> cells_;  // by address
  std::unordered_map<std::uint32_t, std::uint64_t> pinned_;
  // Of the current cell and page.
  PageCell* open_ = nullptr;
  std::uint64_t last_block_ = 0;
  std::vector<Share> sites_;
  std::vector<Share> stacks_;
};

}  // namespace heapwright::analyze
