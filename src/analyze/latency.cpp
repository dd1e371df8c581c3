// SPDX-License-Identifier: MIT
#include "analyze/latency.hpp"

#include <algorithm>
#include <numeric>

#include "analyze/facts.hpp"
#include "analyze/facts/calls.hpp"

namespace heapwright::analyze {
Latency latency_of(const std::uint64_t* counts, std::size_t bucket_count, std::uint64_t sum_ns,
                   std::uint64_t max_ns) {
  Latency latency;
  latency.calls = std::accumulate(counts, counts + bucket_count, std::uint64_t{0});
  latency.sum_ns = sum_ns;
  latency.max_ns = max_ns;
  if (latency.calls == 0) {
    return latency;
  }
  const auto at = [&](double share) {
    return percentile(counts, bucket_count, latency.calls, share, max_ns);
  };
  latency.p50_ns = at(0.5);
  latency.p90_ns = at(0.9);
  latency.p99_ns = at(0.99);
  latency.p999_ns = at(0.999);
  latency.p9999_ns = at(0.9999);
  return latency;
}

void LatencyCounts::add(const LatencyCounts& other) noexcept {
  sum_ns += other.sum_ns;
  max_ns = std::max(max_ns, other.max_ns);
  bytes += other.bytes;
  overhead_bytes += other.overhead_bytes;
  for (std::size_t bucket = 0; bucket < counts.size(); ++bucket) {
    counts[bucket] += other.counts[bucket];
  }
}

std::uint64_t LatencyCounts::calls() const noexcept {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

Latency LatencyCounts::finish() const { return latency_of(counts.data(), counts.size(), sum_ns, max_ns); }

LatencyCounts& LatencyTable::make_cell(trace::EventKind kind, std::size_t size_class) {
  auto& made = storage_.emplace_back();
  cells_[static_cast<std::size_t>(kind)][size_class] = &made;
  return made;
}

void LatencyTable::add(const LatencyTable& other) {
  for (std::size_t kind = 0; kind < cells_.size(); ++kind) {
    for (std::size_t size_class = 0; size_class < cells_[kind].size(); ++size_class) {
      if (other.cells_[kind][size_class] != nullptr) {
        cell(static_cast<trace::EventKind>(kind), size_class).add(*other.cells_[kind][size_class]);
      }
    }
  }
}

void LatencyTable::clear() {
  cells_ = {};
  storage_.clear();
}

void LatencyTable::finish_kind(trace::EventKind kind, Facts& facts) const {
  LatencyCounts all;
  for (const auto* counts : cells_[static_cast<std::size_t>(kind)]) {
    if (counts != nullptr) {
      all.add(*counts);
    }
  }
  const auto calls = all.calls();
  if (calls == 0) {
    return;
  }
  facts.by_kind.push_back({kind, calls, all.bytes, all.finish()});
  auto& totals = facts.totals;
  totals.events += calls;
  totals.allocator_ns += all.sum_ns;
  totals.reallocs += trace::is_realloc(kind) ? calls : 0;
  if (trace::is_allocation(kind)) {
    totals.requested_bytes += all.bytes;
    totals.usable_bytes += all.bytes + all.overhead_bytes;
  }
}

void LatencyTable::finish_classes(Facts& facts) const {
  LatencyCounts allocations;
  LatencyCounts releases;
  for (std::size_t size_class = 0; size_class <= size_class_count; ++size_class) {
    LatencyCounts class_allocations;
    LatencyCounts class_releases;
    for (std::size_t index = 0; index < cells_.size(); ++index) {
      const auto kind = static_cast<trace::EventKind>(index);
      const auto* counts = cells_[index][size_class];
      if (counts != nullptr && trace::is_allocation(kind)) {
        class_allocations.add(*counts);
      } else if (counts != nullptr && trace::is_release(kind)) {
        class_releases.add(*counts);
      }
    }
    allocations.add(class_allocations);
    releases.add(class_releases);
    if (size_class != no_class) {
      auto& row = facts.by_size[size_class];
      row.overhead_bytes = class_allocations.overhead_bytes;
      row.allocation_latency = class_allocations.finish();
      row.release_latency = class_releases.finish();
    }
  }
  facts.allocation_latency = allocations.finish();
  facts.release_latency = releases.finish();
}

void LatencyTable::finish(Facts& facts) const {
  for (std::size_t kind = 0; kind < cells_.size(); ++kind) {
    finish_kind(static_cast<trace::EventKind>(kind), facts);
  }
  finish_classes(facts);
}

}  // namespace heapwright::analyze
