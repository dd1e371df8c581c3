// SPDX-License-Identifier: MIT
// How blocks end: many in a row, or copied into a larger one.
#pragma once

#include <cstdint>

namespace heapwright::analyze {

// Releases of one thread without an allocation by it, or a gap of a millisecond, between them.
struct ReleaseRun {
  std::uint32_t thread = 0;
  std::uint32_t site = 0;  // of most of the blocks
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;  // begin of the last release
  // From begin to end. Between two releases at most 20 us count: in a longer gap other threads ran.
  std::uint64_t busy_ns = 0;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t release_ns = 0;  // of the calls
};

// Blocks of a site that were freed in runs of releases which left almost none of the site's blocks: at most
// an eighth of what they freed.
struct EmptiedSite {
  std::uint32_t leader = 0;  // the site with the most blocks in these runs
  std::uint32_t site = 0;
  std::uint64_t runs = 0;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
};

// Blocks that were replaced by a larger one: a thread allocated 1.25 to 4 times their size at their site, and
// freed them next. Vectors, strings and hash tables grow this way. Chains: buffers, however often they grew.
// Small steps: the same by less than that, as by what is needed, or freed after another block; in none of the
// other figures.
struct CopiedGrowth {
  std::uint32_t site = 0;
  std::uint64_t steps = 0;
  std::uint64_t copied_bytes = 0;  // upper bound: sum of the smaller sizes
  // Begin of the allocations to end of the releases, with the recorder's; at most 20 us and 2 ns a byte each.
  std::uint64_t time_ns = 0;
  std::uint64_t chains = 0;
  std::uint64_t final_p50_bytes = 0;  // final sizes, as in SiteSizes
  std::uint64_t final_p75_bytes = 0;
  std::uint64_t final_p90_bytes = 0;
  std::uint64_t small_steps = 0;
  std::uint64_t small_copied_bytes = 0;
  std::uint64_t small_time_ns = 0;
};

}  // namespace heapwright::analyze
