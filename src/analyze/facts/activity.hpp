// SPDX-License-Identifier: MIT
// Activity by time bin, for graphs of a span of time. There is a row only where something changed. Bin 0 is
// the begin of the analysed time.
#pragma once

#include <cstdint>

namespace heapwright::analyze {

inline constexpr std::uint32_t most_bins = 256;  // a power of two

// Activity of the blocks of one stack within a bin, and what it held at its end.
struct PathBin {
  std::uint32_t stack = 0;
  std::uint32_t bin = 0;
  std::uint64_t allocations = 0;
  std::uint64_t bytes = 0;
  std::uint64_t allocator_ns = 0;  // of the allocations
  std::uint64_t live_bytes = 0;
  std::uint64_t live_blocks = 0;
};

// One thread's calls within a bin.
struct ThreadBin {
  std::uint32_t thread = 0;
  std::uint32_t bin = 0;
  std::uint64_t allocations = 0;
  std::uint64_t releases = 0;
  std::uint64_t bytes = 0;
  std::uint64_t allocator_ns = 0;
};

// Calls of a bin with the same duration, to within 12.5 %.
struct LatencyBin {
  std::uint32_t bin = 0;
  std::uint8_t is_release = 0;
  std::uint64_t from_ns = 0;
  std::uint64_t calls = 0;
};

// Slow calls of a bin with the same cause and duration, to within 12.5 %. The sum over all bins gives the
// slow calls by entry point and cause.
struct SlowBin {
  std::uint32_t bin = 0;
  std::uint8_t of = 0;     // 0: allocations; 1: releases; 2: others
  std::uint8_t cause = 0;  // SlowCause
  std::uint64_t from_ns = 0;
  std::uint64_t calls = 0;
  std::uint64_t duration_ns = 0;
};

}  // namespace heapwright::analyze
