// SPDX-License-Identifier: MIT
#pragma once

#include "analyze/pipeline_limits.hpp"
#include "order/source.hpp"

namespace heapwright::trace {
class Reader;
}

namespace heapwright::analyze {

struct Facts;
struct Options;

// Reads the whole trace once, in order of time, and returns the facts. Memory: O(live blocks + stacks +
// threads), never O(events). Uses all available cores. Throws trace::TraceError.
Facts analyze(const trace::Reader& reader, const Options& options);

// The same for any source.
Facts analyze(const order::Source& source, const Options& options, const PipelineLimits& limits);

}  // namespace heapwright::analyze
