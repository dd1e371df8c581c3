// SPDX-License-Identifier: MIT
// The facts of a trace held in memory.
#pragma once

#include <cstdint>

#include "analyze/analyze.hpp"
#include "analyze/facts.hpp"
#include "analyze/facts/activity.hpp"
#include "analyze/facts/calls.hpp"
#include "analyze/facts/heap_parts.hpp"
#include "analyze/facts/mappings.hpp"
#include "analyze/facts/page_cells.hpp"
#include "analyze/facts/patterns.hpp"
#include "analyze/facts/realloc_chains.hpp"
#include "analyze/facts/residency.hpp"
#include "analyze/facts/series.hpp"
#include "analyze/facts/sites.hpp"
#include "analyze/facts/threads.hpp"
#include "analyze/facts/timeline.hpp"
#include "analyze/options.hpp"
#include "order/memory_trace.hpp"

namespace heapwright::analyze {

using order::Call;
using order::MemoryTrace;

inline Facts facts_of(MemoryTrace& trace, const Options& options = {},
                      const PipelineLimits& limits = {std::uint64_t{256} << 20, 1}) {
  trace.seal();
  return analyze(trace, options, limits);
}

}  // namespace heapwright::analyze
