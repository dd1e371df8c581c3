// SPDX-License-Identifier: MIT
// The pages that held a block at any time of the recording: distinguishes free heap memory from the
// allocator's metadata.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace heapwright::analyze {

class HeldPages {
 public:
  // All pages of the block. Ignores blocks at impossible addresses, and everything beyond 2 TiB of used
  // address space.
  void mark(std::uint64_t address, std::uint64_t bytes) {
    const std::uint64_t page = address / page_bytes;
    if (page == last_page_ && bytes <= page_bytes - address % page_bytes) return;
    mark_pages(address, bytes);
  }
  // Whole pages, from `begin` to `end`.
  void clear(std::uint64_t begin, std::uint64_t end);
  bool has(std::uint64_t address) const noexcept;
  // Whether any page of [begin, end) held a block.
  bool has_any(std::uint64_t begin, std::uint64_t end) const noexcept;
  void add(const HeldPages& other);

  static constexpr std::uint64_t page_bytes = 4096;

 private:
  static constexpr std::uint64_t pages_per_segment = std::uint64_t{1} << 15;
  static constexpr std::size_t most_segments = std::size_t{1} << 14;
  static constexpr std::uint64_t end_address = std::uint64_t{1} << 57;
  using Segment = std::array<std::uint64_t, pages_per_segment / 64>;

  void mark_pages(std::uint64_t address, std::uint64_t bytes);
  Segment* segment_of(std::uint64_t page);

  std::unordered_map<std::uint64_t, std::unique_ptr<Segment>> segments_;
  std::uint64_t last_page_ = UINT64_MAX;  // known to be marked
};

}  // namespace heapwright::analyze
