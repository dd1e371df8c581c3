// SPDX-License-Identifier: MIT
#include "analyze/processor.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace heapwright::analyze {
namespace {

using trace::ProcessorSample;

// Of a damaged file, only samples that follow each other are used.
std::vector<ProcessorSample> rising(const std::vector<ProcessorSample>& samples) {
  std::vector<ProcessorSample> kept;
  for (const auto& sample : samples) {
    const bool follows =
        kept.empty() ||
        (sample.time_ns > kept.back().time_ns && sample.cpu_ns >= kept.back().cpu_ns &&
         sample.system_ns >= kept.back().system_ns && sample.minor_faults >= kept.back().minor_faults &&
         sample.major_faults >= kept.back().major_faults && sample.seen_faults >= kept.back().seen_faults &&
         sample.seen_fault_ns >= kept.back().seen_fault_ns && sample.refaults >= kept.back().refaults &&
         sample.refault_ns >= kept.back().refault_ns);
    if (follows) kept.push_back(sample);
  }
  return kept;
}

// Figures at one time.
struct Moment {
  double of(std::uint64_t ProcessorSample::*field) const noexcept {
    const auto first = static_cast<double>(before.*field);
    return first + part * static_cast<double>(after.*field - before.*field);
  }
  ProcessorSample before;
  ProcessorSample after;
  double part = 0;
};

Moment moment_at(const std::vector<ProcessorSample>& samples, std::uint64_t time_ns) {
  const auto next = std::partition_point(samples.begin(), samples.end(),
                                         [&](const auto& sample) { return sample.time_ns <= time_ns; });
  if (next == samples.begin()) return {samples.front(), samples.front(), 0};
  if (next == samples.end()) return {samples.back(), samples.back(), 0};
  const auto& before = *(next - 1);
  const auto all_ns = static_cast<double>(next->time_ns - before.time_ns);
  return {before, *next, static_cast<double>(time_ns - before.time_ns) / all_ns};
}

}  // namespace

Processor processor_of(const order::Source& source, const Coverage& coverage, std::uint64_t from_ns) {
  const auto samples = rising(source.processor_samples());
  Processor sum;
  if (samples.size() < 2) return sum;
  sum.is_known = true;
  for (const auto& span : coverage.spans) {
    const bool is_whole = from_ns == 0 && coverage.has_start && &span == coverage.spans.data();
    const auto from = moment_at(samples, is_whole ? 0 : span.from_ns);
    const auto to = moment_at(samples, span.to_ns);
    const auto add = [&](std::uint64_t& to_sum, std::uint64_t ProcessorSample::*field) {
      to_sum += static_cast<std::uint64_t>(std::llround(to.of(field) - from.of(field)));
    };
    add(sum.cpu_ns, &ProcessorSample::cpu_ns);
    add(sum.system_ns, &ProcessorSample::system_ns);
    add(sum.minor_faults, &ProcessorSample::minor_faults);
    add(sum.major_faults, &ProcessorSample::major_faults);
    add(sum.seen_faults, &ProcessorSample::seen_faults);
    add(sum.seen_fault_ns, &ProcessorSample::seen_fault_ns);
    add(sum.refaults, &ProcessorSample::refaults);
    add(sum.refault_ns, &ProcessorSample::refault_ns);
  }
  return sum;
}

}  // namespace heapwright::analyze
