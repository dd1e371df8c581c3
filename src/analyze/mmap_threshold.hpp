// SPDX-License-Identifier: MIT
// Tracks the C library's mmap threshold, the size from which a block gets its own mapping: it starts at 128
// KiB, and each free of a larger mapped block raises it to that block's size. Derived from the frees alone; a
// setting may disable the raise.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/facts/heap_parts.hpp"
#include "analyze/sites.hpp"

namespace heapwright::analyze {

// The usable size of a block with its own mapping has 0 in these bits, that of any other block has 8: chunks
// are multiples of 16, with headers of 16 and 8 bytes.
constexpr bool is_mapped_chunk(std::uint64_t usable_bytes) noexcept { return usable_bytes % 16 == 0; }

class MmapThreshold {
 public:
  static constexpr std::uint64_t first_bytes = std::uint64_t{128} << 10;

  // For a block of the C library: whether it has its own mapping, judging by its usable size.
  static constexpr bool is_mapped_apart(std::uint64_t usable_bytes) noexcept {
    return usable_bytes >= first_bytes / 2 && is_mapped_chunk(usable_bytes);
  }

  // Tracks nothing for other allocators.
  explicit MmapThreshold(bool is_glibc) : least_size_(is_glibc ? first_bytes - 4096 : UINT64_MAX) {}

  // Frees of smaller blocks change nothing.
  std::uint64_t least_size() const noexcept { return least_size_; }
  // A call of free, not of realloc.
  void add_free(std::uint64_t size, std::uint64_t excess, std::uint32_t stack, std::uint64_t time_ns);
  std::vector<ThresholdRaise> finish(const SiteMap& sites) const;

 private:
  std::uint64_t threshold_ = first_bytes;
  std::uint64_t least_size_;
  std::vector<ThresholdRaise> raises_;  // `site` is the stack
};

}  // namespace heapwright::analyze
