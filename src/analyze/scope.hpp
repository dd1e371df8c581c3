// SPDX-License-Identifier: MIT
// The scope of one analysis: the options, prepared for the hot loops.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/causes.hpp"
#include "analyze/coverage.hpp"
#include "analyze/sampling_weight.hpp"
#include "analyze/sites.hpp"
#include "analyze/timeline.hpp"
#include "order/schedule.hpp"
#include "order/source.hpp"

namespace heapwright::analyze {

struct Options;
struct PipelineLimits;

class Scope {
 public:
  Scope(const Options& options, const order::Source& source, const order::Schedule& schedule,
        const PipelineLimits& limits);

  // Releases must be processed together with their blocks: some blocks are filtered out, or weigh more than
  // one.
  bool follows_blocks() const noexcept { return has_block_filter_ || weight.is_sampled(); }
  bool is_chosen(std::uint32_t lane, std::uint64_t size_bytes, std::uint32_t stack) const noexcept {
    return lane_chosen_[lane] != 0 && size_bytes >= min_size_bytes_ && size_bytes <= max_size_bytes_ &&
           sites.is_chosen(stack);
  }
  // For releases without a known block.
  bool is_lane_chosen(std::uint32_t lane) const noexcept { return lane_chosen_[lane] != 0; }
  bool chooses_by_block() const noexcept { return chooses_by_block_; }

  SiteMap sites;
  SamplingWeight weight;
  TimeSteps steps;
  RecordedSpans recorded;
  std::uint64_t from_ns;
  std::uint64_t to_ns;
  bool has_window_start;  // there may be events before from_ns
  std::uint32_t slowest_calls;
  std::size_t histogram_counts;
  bool wants_activity;
  bool is_fork_child;   // has blocks from before its trace
  bool is_glibc;        // the allocator
  std::uint64_t at_ns;  // see Options
  CauseRules cause_rules;
  const std::vector<std::uint32_t>& thread_of_lane;
  // How late a release may come after its address was reused: the quantum of the times, or without durations
  // the time a call may take.
  std::uint64_t inversion_ns;

 private:
  std::uint64_t min_size_bytes_;
  std::uint64_t max_size_bytes_;
  std::vector<std::uint8_t> lane_chosen_;
  bool chooses_by_block_;  // by size or site
  bool has_block_filter_;  // by size, site or thread
};

}  // namespace heapwright::analyze
