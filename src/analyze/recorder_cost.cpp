// SPDX-License-Identifier: MIT
#include "analyze/recorder_cost.hpp"

#include <algorithm>

#include "analyze/facts/calls.hpp"

namespace heapwright::analyze {

RecorderCost recorder_cost_of(const order::Source& source, const std::vector<ByKind>& calls) {
  const auto& metadata = source.metadata();
  RecorderCost cost;
  for (const auto& row : calls) {
    const auto per_call =
        trace::is_allocation(row.kind) ? metadata.self_cost_allocation_ns : metadata.self_cost_release_ns;
    const bool is_heap_call = trace::is_allocation(row.kind) || trace::is_release(row.kind);
    cost.calls_ns += is_heap_call ? row.calls * per_call : 0;
  }
  for (const auto& thread : source.threads()) {
    cost.waited_ns += thread.waited_ns;
  }
  cost.peak_bytes = source.end().recorder_peak_bytes;
  for (const auto& sample : source.memory_samples()) {
    cost.peak_bytes = std::max(cost.peak_bytes, sample.recorder_bytes);
  }
  cost.file_bytes = source.file_bytes();
  return cost;
}

}  // namespace heapwright::analyze
