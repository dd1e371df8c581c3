// SPDX-License-Identifier: MIT
// Facts by site: a group of call stacks.
#pragma once

#include <cstdint>

namespace heapwright::analyze {

// Facts of one site, or of one stack.
struct SiteFacts {
  std::uint64_t allocations = 0;
  std::uint64_t by_operator_new = 0;  // of these
  std::uint64_t bytes = 0;
  std::uint64_t overhead_bytes = 0;  // sum of usable - requested
  std::uint64_t reallocs = 0;
  std::uint64_t temporaries = 0;  // see Facts::temporaries
  std::uint64_t freed_by_other_thread = 0;
  std::uint64_t allocator_ns = 0;  // of this site's allocation calls
  std::uint64_t release_ns = 0;    // of the calls that freed its blocks
  std::uint64_t live_at_peak_blocks = 0;
  std::uint64_t live_at_peak_bytes = 0;
  std::uint64_t live_at_end_blocks = 0;
  std::uint64_t live_at_end_bytes = 0;
  // When the blocks that are live at the end were allocated: bit i, in the i-th of 64 equal parts of the
  // analysed time.
  std::uint64_t live_at_end_parts = 0;
  std::uint64_t live_at_pause_blocks = 0;  // of those live at the end: were live when the recording
  std::uint64_t live_at_pause_bytes = 0;   // paused, so they may have been released unseen
  std::uint64_t own_peak_bytes = 0;        // highest live bytes of this site alone
  std::uint64_t lifetime_sum_ns = 0;       // of its freed blocks
  std::uint64_t freed = 0;
};

// Known only for a stack, not for a site. Not for sampled traces.
struct StackLives {
  std::uint64_t own_peak_blocks = 0;  // at the moment of own_peak_bytes
  std::uint64_t live_at_end_ns = 0;   // sum over the blocks that are live at the end: their age
};

// The sizes requested at one site. Percentiles are accurate to 6.25 %, and exact if all sizes are equal.
struct SiteSizes {
  std::uint64_t min_bytes = 0;
  std::uint64_t p50_bytes = 0;
  std::uint64_t p90_bytes = 0;
  std::uint64_t p99_bytes = 0;
  std::uint64_t max_bytes = 0;
  std::uint64_t counted = 0;  // calls covered by the percentiles; fewer than all: see Totals::sizes_left_out
};

}  // namespace heapwright::analyze
