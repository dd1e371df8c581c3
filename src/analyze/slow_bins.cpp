// SPDX-License-Identifier: MIT
#include "analyze/slow_bins.hpp"

#include <algorithm>

#include "analyze/facts.hpp"
#include "analyze/facts/activity.hpp"
#include "analyze/facts/calls.hpp"
#include "analyze/histogram.hpp"
#include "analyze/timeline.hpp"

namespace heapwright::analyze {

void SlowBins::add(const SlowCall& call) {
  if (span_ == nullptr) {
    return;
  }
  const bool is_release = trace::is_release(call.kind);
  const auto of = static_cast<std::uint8_t>(trace::is_allocation(call.kind) ? 0 : is_release ? 1 : 2);
  const auto time_ns = call.begin_ns + (is_release ? 0 : call.duration_ns);
  const TimeSteps bins(span_->from_ns(), span_->from_ns() + span_->span_ns(), most_bins);
  auto& sum = sums_[{bins.step_of(time_ns), of, call.cause, bucket_of(call.duration_ns)}];
  ++sum.calls;
  sum.duration_ns += call.duration_ns;
}

void SlowBins::add(const SlowBins& other) {
  for (const auto& [key, from] : other.sums_) {
    auto& to = sums_[key];
    to.calls += from.calls;
    to.duration_ns += from.duration_ns;
  }
}

void SlowBins::finish(Facts& facts) const {
  const auto bins = std::max<std::size_t>(facts.bin_end_ns.size(), 1);
  const auto steps_per_bin = static_cast<std::uint32_t>(most_bins / bins);
  SlowBins joined;
  for (const auto& [key, sum] : sums_) {
    const auto& [step, of, cause, bucket] = key;
    auto& to = joined.sums_[{step / steps_per_bin + 1, of, cause, bucket}];
    to.calls += sum.calls;
    to.duration_ns += sum.duration_ns;
  }
  for (const auto& [key, sum] : joined.sums_) {
    const auto& [bin, of, cause, bucket] = key;
    facts.slow_bins.push_back({bin, of, cause, lower_bound_of(bucket), sum.calls, sum.duration_ns});
  }
}

}  // namespace heapwright::analyze
