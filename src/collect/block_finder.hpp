// SPDX-License-Identifier: MIT
// Finds the block that an address lies in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/heap_graph.hpp"

namespace heapwright::collect {

class BlockFinder {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  // `blocks` by address; they outlive this.
  explicit BlockFinder(std::span<const trace::GraphNode> blocks) : blocks_(blocks) {
    for (std::uint32_t block = 0; block < blocks.size(); ++block) add(block);
  }

  // A block of 0 bytes has one.
  std::uint32_t find(std::uint64_t address) const noexcept {
    if (blocks_.empty() || address < blocks_.front().address || address >= end_) return none;
    const std::uint64_t page = address / page_bytes;
    const auto region = std::upper_bound(regions_.begin(), regions_.end(), page,
                                         [](std::uint64_t at, const Region& one) { return at < one.begin; });
    if (region == regions_.begin() || page >= std::prev(region)->end) return none;
    const std::size_t place = std::prev(region)->first + (page - std::prev(region)->begin);
    const auto last = place + 1 < at_page_.size() ? at_page_[place + 1] + std::size_t{1} : blocks_.size();
    const auto from = blocks_.begin() + at_page_[place];
    const auto to = blocks_.begin() + static_cast<std::ptrdiff_t>(std::min(last, blocks_.size()));
    const auto after = std::upper_bound(
        from, to, address, [](std::uint64_t at, const trace::GraphNode& one) { return at < one.address; });
    if (after == blocks_.begin()) return none;
    const trace::GraphNode& found = *std::prev(after);
    if (address - found.address >= bytes_of(found)) return none;
    return static_cast<std::uint32_t>(std::prev(after) - blocks_.begin());
  }

 private:
  static constexpr std::uint64_t page_bytes = 4096;
  static constexpr std::uint64_t most_gap_pages = 256;

  // Consecutive pages [begin, end), whose first is at_page_[first].
  struct Region {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::size_t first = 0;
  };

  static std::uint64_t bytes_of(const trace::GraphNode& block) noexcept {
    return std::max<std::uint64_t>(block.size, 1);
  }

  void add(std::uint32_t block) {
    const trace::GraphNode& one = blocks_[block];
    const std::uint64_t first = one.address / page_bytes;
    const std::uint64_t end = (one.address + bytes_of(one) - 1) / page_bytes + 1;
    if (regions_.empty() || first > regions_.back().end + most_gap_pages) {
      regions_.push_back({first, first, at_page_.size()});
    }
    Region& region = regions_.back();
    // The last block that begins at or before the page; blocks between pages are found behind it.
    while (region.end < end) {
      const bool begins_before = one.address <= region.end * page_bytes;
      const bool is_first = block == 0 || region.end == region.begin;
      at_page_.push_back(begins_before || is_first ? block : block - 1);
      ++region.end;
    }
    end_ = std::max(end_, one.address + bytes_of(one));
  }

  std::span<const trace::GraphNode> blocks_;
  std::vector<Region> regions_;
  std::vector<std::uint32_t> at_page_;
  std::uint64_t end_ = 0;
};

}  // namespace heapwright::collect
