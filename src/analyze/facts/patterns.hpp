// SPDX-License-Identifier: MIT
// How blocks end: many in a row, or copied into a larger one.
#pragma once

#include <cstdint>

namespace heapwright::analyze {

// Releases of one thread without an allocation of its own, or a gap of a millisecond, between them.
struct ReleaseRun {
  std::uint32_t thread = 0;
  std::uint32_t site = 0;  // of most of the blocks
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;  // begin of the last release
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t release_ns = 0;  // of the calls
};

// Blocks of a site that died in runs of releases which left next to none of
// the site: no more than an eighth of what they took.
struct EmptiedSite {
  std::uint32_t leader = 0;  // the site of most blocks of these runs
  std::uint32_t site = 0;
  std::uint64_t runs = 0;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
};

// Blocks that gave way to a larger one: a thread allocated at their site from
// 1.25 to 4 times their size, and released them next. Vectors, strings and
// hash tables grow so. Chains: buffers, however often they grew.
struct CopiedGrowth {
  std::uint32_t site = 0;
  std::uint64_t steps = 0;
  std::uint64_t copied_bytes = 0;  // at most: sum of the smaller sizes
  std::uint64_t time_ns = 0;       // begin of the allocations to end of the releases, the recorder's included
  std::uint64_t chains = 0;
  std::uint64_t final_p50_bytes = 0;  // sizes at which they stopped, as SiteSizes
  std::uint64_t final_p75_bytes = 0;
  std::uint64_t final_p90_bytes = 0;
};

}  // namespace heapwright::analyze
