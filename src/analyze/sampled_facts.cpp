// SPDX-License-Identifier: MIT
#include "analyze/sampled_facts.hpp"

#include "analyze/facts.hpp"
#include "analyze/facts/activity.hpp"
#include "analyze/facts/calls.hpp"
#include "analyze/facts/realloc_chains.hpp"
#include "analyze/facts/series.hpp"
#include "analyze/facts/sites.hpp"
#include "analyze/facts/threads.hpp"
#include "analyze/facts/timeline.hpp"

namespace heapwright::analyze {
namespace {

class Divide {
 public:
  explicit Divide(std::uint64_t unit) : unit_(unit) {}

  template <class... Values>
  void operator()(Values&... values) const noexcept {
    ((values = values / unit_ + (values % unit_ >= unit_ / 2 ? 1 : 0)), ...);
  }
  void all(std::vector<std::uint64_t>& values) const noexcept {
    for (auto& value : values) {
      (*this)(value);
    }
  }
  void latency(Latency& of) const noexcept { (*this)(of.calls, of.sum_ns); }

 private:
  std::uint64_t unit_;
};

// All but lifetime_sum_ns, which was weighted with the weight itself.
void divide_site(const Divide& divide, SiteFacts& of) {
  divide(of.allocations, of.by_operator_new, of.bytes, of.overhead_bytes, of.reallocs, of.temporaries,
         of.freed_by_other_thread, of.allocator_ns, of.release_ns, of.live_at_peak_blocks,
         of.live_at_peak_bytes, of.live_at_end_blocks, of.live_at_end_bytes, of.live_at_pause_blocks,
         of.live_at_pause_bytes, of.own_peak_bytes, of.freed);
}

void divide_classes(const Divide& divide, Facts& facts) {
  for (auto& of : facts.by_kind) {
    divide(of.calls, of.bytes);
    divide.latency(of.latency);
  }
  for (auto& of : facts.by_size) {
    divide(of.allocations, of.bytes, of.overhead_bytes, of.live_at_peak_blocks, of.live_at_peak_bytes);
    divide.latency(of.allocation_latency);
    divide.latency(of.release_latency);
  }
  for (auto& of : facts.common_sizes) {
    divide(of.allocations);
  }
  divide.all(facts.lifetimes.blocks);
  divide.all(facts.lifetimes.bytes);
}

void divide_rows(const Divide& divide, Facts& facts) {
  for (auto& of : facts.threads) {
    divide(of.allocations, of.releases, of.bytes, of.allocator_ns, of.temporaries, of.peak_live_bytes);
  }
  for (auto& of : facts.cross_thread) {
    divide(of.blocks, of.bytes);
  }
  for (auto& of : facts.realloc_chains) {
    divide(of.chains, of.steps, of.moved, of.copied_bytes, of.steps_ns, of.final_bytes);
  }
  for (auto& of : facts.timeline) {
    divide(of.live_bytes, of.live_usable_bytes, of.live_blocks, of.highest_live_bytes, of.allocations,
           of.releases, of.allocator_ns);
  }
  for (auto& of : facts.path_bins) {
    divide(of.allocations, of.bytes, of.allocator_ns, of.live_bytes, of.live_blocks);
  }
  for (auto& of : facts.thread_bins) {
    divide(of.allocations, of.releases, of.bytes, of.allocator_ns);
  }
  for (auto& of : facts.latency_bins) {
    divide(of.calls);
  }
  for (auto& of : facts.series_moments) {
    divide(of.live_bytes, of.live_usable_bytes, of.live_blocks);
  }
}

}  // namespace

void divide_weights(std::uint64_t unit, Facts& facts) {
  const Divide divide(unit);
  auto& totals = facts.totals;
  divide(totals.events, totals.allocations, totals.releases, totals.reallocs, totals.requested_bytes,
         totals.usable_bytes, totals.zero_size, totals.allocator_ns, totals.sizes_left_out,
         totals.latencies_left_out);
  divide(facts.peak.live_bytes, facts.peak.live_usable_bytes, facts.peak.live_blocks, facts.temporaries);
  divide.latency(facts.allocation_latency);
  divide.latency(facts.release_latency);
  for (auto& of : facts.sites) {
    divide_site(divide, of);
  }
  for (auto& of : facts.stacks) {
    divide_site(divide, of);
  }
  for (auto& of : facts.site_latency) {
    divide.latency(of);
  }
  for (auto& of : facts.site_sizes) {
    divide(of.counted);
  }
  divide_classes(divide, facts);
  divide_rows(divide, facts);
}

}  // namespace heapwright::analyze
