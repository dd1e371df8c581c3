// SPDX-License-Identifier: MIT
// The uncertainty of a sampled recording's estimates: see analyze/spreads.hpp.
#pragma once

#include <vector>

namespace heapwright::analyze {

// For an estimate from samples: an unbiased estimate of its variance, and the root of the largest term of
// that.
struct Spread {
  double variance = 0;
  double largest = 0;
};

// For allocations.
struct CallSpread {
  Spread allocations;
  Spread bytes;
  Spread overhead;
};

// For what was live at the peak and at the end.
struct LiveSpread {
  Spread peak_blocks;
  Spread peak_bytes;
  Spread end_blocks;
  Spread end_bytes;
};

// Variances of one step of the timeline.
struct StepSpread {
  double live_bytes = 0;
  double allocations = 0;
};

// For each table of facts, in its order.
struct Spreads {
  CallSpread total_calls;
  LiveSpread total_live;
  std::vector<CallSpread> site_calls;
  std::vector<LiveSpread> site_live;
  std::vector<CallSpread> class_calls;  // by size class (bit width of the size)
  std::vector<LiveSpread> class_live;
  std::vector<CallSpread> thread_calls;
  std::vector<StepSpread> steps;
};

}  // namespace heapwright::analyze
