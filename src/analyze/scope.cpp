// SPDX-License-Identifier: MIT
#include "analyze/scope.hpp"

#include <algorithm>

#include "analyze/coverage.hpp"
#include "analyze/options.hpp"
#include "analyze/pipeline_limits.hpp"

namespace heapwright::analyze {
namespace {

constexpr std::uint64_t quantum_ns = 64;
constexpr std::uint64_t longest_unmeasured_call_ns = 1'000'000;

// Nothing is known about blocks that ended earlier, so earlier calls are not counted either: their blocks are
// treated like those from before a window.
std::uint64_t from_ns_of(const Options& options, const order::Source& source) {
  return std::max(options.from_ns, source.metadata().forgotten_before_ns);
}

// Up to the end of the process: a program that only waits after its last call still holds its memory.
TimeSteps make_steps(const Options& options, const order::Source& source, const order::Schedule& schedule) {
  std::uint64_t from_ns = UINT64_MAX;
  std::uint64_t to_ns = end_ns_of(source);
  for (const auto& job : schedule.jobs) {
    from_ns = std::min(from_ns, job.chunk->first_begin_ns);
    to_ns = std::max(to_ns, job.chunk->last_end_ns);
  }
  const std::uint64_t chosen_ns = from_ns_of(options, source);
  from_ns = schedule.jobs.empty() ? chosen_ns : std::max(from_ns, chosen_ns);
  to_ns = std::max(std::min(to_ns, options.to_ns), from_ns);
  return {from_ns, to_ns, options.timeline_points};
}

}  // namespace

Scope::Scope(const Options& options, const order::Source& source, const order::Schedule& schedule,
             const PipelineLimits& limits)
    : sites(options, source.stack_count()),
      weight(source.metadata().sample_mean_bytes),
      steps(make_steps(options, source, schedule)),
      recorded(source),
      from_ns(from_ns_of(options, source)),
      to_ns(options.to_ns),
      has_window_start(from_ns != 0),
      slowest_calls(options.slowest_calls),
      histogram_counts(limits.histogram_counts),
      wants_activity(options.wants_activity),
      is_fork_child(source.metadata().is_fork_child),
      is_glibc(source.metadata().allocator.starts_with("glibc ")),
      at_ns(options.at_ns),
      cause_rules(source),
      thread_of_lane(schedule.thread_of_lane),
      inversion_ns(source.metadata().durations_recorded ? quantum_ns : longest_unmeasured_call_ns),
      min_size_bytes_(options.min_size_bytes),
      max_size_bytes_(options.max_size_bytes),
      chooses_by_block_(min_size_bytes_ != 0 || max_size_bytes_ != UINT64_MAX ||
                        !options.stack_chosen.empty()),
      has_block_filter_(chooses_by_block_ || !options.thread_chosen.empty()) {
  const auto& chosen = options.thread_chosen;
  for (const auto thread : schedule.thread_of_lane) {
    lane_chosen_.push_back(chosen.empty() || (thread < chosen.size() && chosen[thread] != 0) ? 1 : 0);
  }
}

}  // namespace heapwright::analyze
