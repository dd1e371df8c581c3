// SPDX-License-Identifier: MIT
// The model's borders in time: the begin of the window and of its steps, and the end state.
#include <algorithm>

#include "analyze/facts.hpp"
#include "analyze/facts/calls.hpp"
#include "analyze/facts/heap_parts.hpp"
#include "analyze/facts/mappings.hpp"
#include "analyze/facts/realloc_chains.hpp"
#include "analyze/facts/sites.hpp"
#include "analyze/facts/threads.hpp"
#include "analyze/facts/timeline.hpp"
#include "analyze/heap_model.hpp"

namespace heapwright::analyze {

std::uint64_t HeapModel::next_border_ns() const noexcept {
  return is_in_window_ ? timeline_.next_border_ns() : scope_.from_ns;
}

void HeapModel::pass_border(std::uint64_t time_ns) {
  if (!is_in_window_) {
    begin_window(scope_.from_ns);
  }
  timeline_.close_steps(time_ns, live_);
  SiteTransits transits;
  for (const auto& open : reallocs_) {
    if (open.block && open.block->is_chosen) {
      const auto& block = *open.block;
      transits.push_back({scope_.sites.site_of(block.stack), block.size * block.weight,
                          (block.size + block.excess) * block.weight, block.weight});
    }
  }
  site_series_.close_steps(timeline_.closed(), sites_, transits);
  if (spreads_.is_sampled()) {
    spreads_.close_steps(timeline_.closed());
  }
  border_ns_ = next_border_ns();
}

// Resets all counts; live blocks stay live.
void HeapModel::begin_window(std::uint64_t time_ns) {
  is_in_window_ = true;
  live_.begin_window(time_ns);
  sites_.begin_window(live_.version());
  for (auto& thread : threads_) {
    ThreadLife kept;
    kept.last_address = thread.last_address;
    kept.live_bytes = kept.peak_live_bytes = thread.live_bytes;
    thread = kept;
  }
  cross_thread_.begin_window();
  chains_.begin_window();
  runs_.begin_window();
  growths_.begin_window(scope_.sites.site_count(), scope_.histogram_counts);
  mappings_.begin_window();
  timeline_.begin_window(live_);
  spreads_.begin_window(live_.version());
  slowest_.clear();
  causes_.clear();
  unknown_releases_ = 0;
  releases_from_before_ = 0;
  releases_in_pauses_ = 0;
  reused_live_addresses_ = 0;
  size_mismatches_ = 0;
}

void HeapModel::keep_live_at_pause(Facts& facts) {
  const auto resumed_ns = scope_.recorded.last_resume_ns();
  if (resumed_ns == 0) {
    return;
  }
  blocks_.for_each_live([&](const Slot& slot) {
    if (slot.time_ns >= resumed_ns || (slot.flags & slot_not_chosen) != 0) {
      return;
    }
    const bool is_wide = (slot.flags & slot_is_wide) != 0;
    const auto weight = is_wide ? blocks_.wide(slot).weight : 1;
    auto& stack = facts.stacks[slot.stack];
    stack.live_at_pause_blocks += weight;
    stack.live_at_pause_bytes += (is_wide ? blocks_.wide(slot).size : slot.size) * weight;
  });
}

void HeapModel::finish(const std::vector<trace::MemorySample>& samples, const SiteCallSums& calls,
                       Facts& facts) {
  if (!is_in_window_) {
    pass_border(scope_.from_ns);
  }
  const auto end_ns = scope_.steps.from_ns() + scope_.steps.span_ns();
  blocks_.for_each_live([&](const Slot& slot) {
    if ((slot.flags & slot_is_wide) != 0) {
      close_chain(slot);
    }
    if ((slot.flags & slot_not_chosen) == 0) {
      facts.stacks[slot.stack].live_at_end_parts |= std::uint64_t{1} << scope_.steps.part_of(slot.time_ns);
      facts.stack_lives[slot.stack].live_at_end_ns += std::max(end_ns, slot.time_ns) - slot.time_ns;
    }
  });
  live_.finish(facts);
  site_series_.finish(sites_, facts);
  sites_.finish(live_.version(), facts);
  keep_live_at_pause(facts);
  spreads_.finish(live_.version(), scope_.steps.points(), facts);
  for (std::size_t lane = 0; lane < threads_.size(); ++lane) {
    auto& thread = facts.threads[scope_.thread_of_lane[lane]];
    thread.temporaries = threads_[lane].temporaries;
    thread.peak_live_bytes = threads_[lane].peak_live_bytes;
    thread.releases = threads_[lane].releases;
    thread.allocator_ns += threads_[lane].release_ns;
    facts.temporaries += threads_[lane].temporaries;
    facts.totals.releases += threads_[lane].releases;
  }
  facts.cross_thread = cross_thread_.finish(scope_.thread_of_lane, threads_);
  facts.realloc_chains = chains_.finish();
  runs_.finish(sites_, facts);
  growths_.finish(calls, facts);
  facts.mappings = mappings_.finish(scope_.sites);
  facts.threshold_raises = mmap_threshold_.finish(scope_.sites);
  timeline_.finish(live_, samples, facts.timeline);
  for (const auto& call : facts.slowest) {
    slowest_.add(call);
  }
  facts.slowest = slowest_.finish();
  (scope_.is_fork_child ? facts.totals.inherited_releases : facts.totals.unknown_releases) =
      unknown_releases_;
  facts.large_heap_blocks = large_heap_blocks_;
  facts.totals.releases_from_before = releases_from_before_;
  facts.totals.releases_in_pauses = releases_in_pauses_;
  facts.totals.reused_live_addresses = reused_live_addresses_;
  facts.totals.size_mismatches = size_mismatches_;
}

}  // namespace heapwright::analyze
