// SPDX-License-Identifier: MIT
#include "analyze/activity.hpp"

#include <algorithm>

#include "analyze/facts.hpp"

namespace heapwright::analyze {

Activity::Activity(const Scope& scope, std::size_t rows_limit)
    : scope_(scope),
      steps_(scope.steps.from_ns(), scope.steps.from_ns() + scope.steps.span_ns(), most_bins),
      rows_limit_(rows_limit),
      paths_(scope.wants_activity ? scope.sites.stack_count() : 0),
      threads_(scope.wants_activity ? scope.thread_of_lane.size() : 0) {
  if (scope.wants_activity) {
    latencies_.resize(most_bins + 1);
    next_ns_ = steps_.from_ns();
  }
}

// The last bin stays open until finish().
void Activity::set_border() noexcept {
  const auto bins = most_bins / steps_per_bin_;
  next_ns_ = bin_ < bins ? steps_.end_of(bin_ * steps_per_bin_ - 1) : UINT64_MAX;
}

void Activity::pass(const SiteLives& lives) {
  paths_.close(bin_, [&](std::uint32_t stack) {
    return Held{lives.live_bytes_of(stack), lives.live_blocks_of(stack)};
  });
  threads_.close(bin_);
  if (paths_.rows().size() + threads_.rows().size() > rows_limit_ && bin_ % 2 == 0 && bin_ != 0 &&
      steps_per_bin_ < most_bins / 2) {
    fold();
  }
  ++bin_;
  set_border();
}

void Activity::fold() {
  paths_.fold();
  threads_.fold();
  for (std::uint32_t bin = 1; bin <= bin_; ++bin) {
    auto& to = latencies_[(bin + 1) / 2];
    const auto from = latencies_[bin];
    latencies_[bin] = {};
    for (std::size_t bucket = 0; bucket < duration_buckets; ++bucket) {
      to.allocations[bucket] += from.allocations[bucket];
      to.releases[bucket] += from.releases[bucket];
    }
  }
  bin_ /= 2;
  steps_per_bin_ *= 2;
}

void Activity::add(const order::Run<Piece>& run) {
  if (latencies_.empty()) {
    return;
  }
  const auto* const rows = run.piece->rows();
  BinnedSum thread;
  thread.key = run.lane;
  for (auto index = run.from; index < run.to; ++index) {
    const auto& row = rows[index];
    if ((row.flags & (row_is_mapping | row_not_chosen)) == 0 && bin_ != 0) {
      add_row(row, *run.piece, thread);
    }
  }
  if (thread.allocations != 0 || thread.releases != 0) {
    threads_.add(thread);
  }
}

void Activity::add_row(const Row& row, const Piece& piece, BinnedSum& thread) {
  const auto bucket = bucket_of(row.duration_ns);
  if ((row.flags & row_acquires) != 0) {
    const bool is_wide = (row.flags & row_is_wide) != 0;
    const auto size = is_wide ? piece.wide[row.size].size : row.size;
    const auto weight = is_wide ? piece.wide[row.size].weight : 1;
    const BinnedSum sum{row.stack, 0, weight, 0, size * weight, row.duration_ns * weight, 0, 0};
    paths_.add(sum);
    thread.add(sum);
    latencies_[bin_].allocations[bucket] += weight;
  } else if ((row.flags & row_in_realloc) == 0 && !scope_.follows_blocks()) {
    ++thread.releases;
    thread.allocator_ns += row.duration_ns;
    ++latencies_[bin_].releases[bucket];
  }
}

void Activity::finish_latencies(Facts& facts) const {
  for (std::uint32_t bin = 1; bin <= bin_; ++bin) {
    for (std::size_t bucket = 0; bucket < duration_buckets; ++bucket) {
      const auto from_ns = lower_bound_of(bucket);
      if (const auto calls = latencies_[bin].allocations[bucket]; calls != 0) {
        facts.latency_bins.push_back({bin, 0, from_ns, calls});
      }
      if (const auto calls = latencies_[bin].releases[bucket]; calls != 0) {
        facts.latency_bins.push_back({bin, 1, from_ns, calls});
      }
    }
  }
}

void Activity::finish(const SiteLives& lives, Facts& facts) {
  if (latencies_.empty()) {
    return;
  }
  const auto bins = [&] { return most_bins / steps_per_bin_; };
  while (bin_ < bins()) {
    pass(lives);
  }
  paths_.close(bin_, [&](std::uint32_t stack) {
    return Held{lives.live_bytes_of(stack), lives.live_blocks_of(stack)};
  });
  threads_.close(bin_);
  for (std::uint32_t bin = 1; bin <= bins(); ++bin) {
    facts.bin_end_ns.push_back(steps_.end_of(bin * steps_per_bin_ - 1));
  }
  for (const auto& row : paths_.rows()) {
    facts.path_bins.push_back(
        {row.key, row.bin, row.allocations, row.bytes, row.allocator_ns, row.live_bytes, row.live_blocks});
  }
  for (const auto& row : threads_.rows()) {
    facts.thread_bins.push_back({scope_.thread_of_lane[row.key], row.bin, row.allocations, row.releases,
                                 row.bytes, row.allocator_ns});
  }
  finish_latencies(facts);
}

}  // namespace heapwright::analyze
