// SPDX-License-Identifier: MIT
#include "analyze/latency.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace heapwright::analyze {
namespace {

// The value that `share` of the calls do not exceed: the rank's place within
// its bucket, taken as evenly filled.
std::uint64_t percentile(const std::uint64_t* counts, std::size_t bucket_count, std::uint64_t calls, double share,
                         std::uint64_t max_ns) {
  const auto exact = std::ceil(share * static_cast<double>(calls));
  const auto rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(exact), 1, calls);
  std::uint64_t before = 0;
  for (std::size_t bucket = 0; bucket < bucket_count; ++bucket) {
    if (before + counts[bucket] < rank) {
      before += counts[bucket];
      continue;
    }
    const auto from = lower_bound_of(bucket);
    const auto width = static_cast<double>(lower_bound_of(bucket + 1) - from - 1);
    const auto place = (static_cast<double>(rank - before) - 0.5) / static_cast<double>(counts[bucket]);
    return std::min(from + static_cast<std::uint64_t>(std::llround(width * place)), max_ns);
  }
  return max_ns;
}

}  // namespace

Latency latency_of(const std::uint64_t* counts, std::size_t bucket_count, std::uint64_t sum_ns, std::uint64_t max_ns) {
  Latency latency;
  latency.calls = std::accumulate(counts, counts + bucket_count, std::uint64_t{0});
  latency.sum_ns = sum_ns;
  latency.max_ns = max_ns;
  if (latency.calls == 0) {
    return latency;
  }
  const auto at = [&](double share) { return percentile(counts, bucket_count, latency.calls, share, max_ns); };
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
  for (std::size_t bucket = 0; bucket < counts.size(); ++bucket) {
    counts[bucket] += other.counts[bucket];
  }
}

std::uint64_t LatencyCounts::calls() const noexcept {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

Latency LatencyCounts::finish() const {
  return latency_of(counts.data(), counts.size(), sum_ns, max_ns);
}

void LatencyByKind::add(const LatencyByKind& other) noexcept {
  for (std::size_t kind = 0; kind < kinds_->size(); ++kind) {
    (*kinds_)[kind].latency.add((*other.kinds_)[kind].latency);
    (*kinds_)[kind].bytes += (*other.kinds_)[kind].bytes;
  }
}

void LatencyByKind::finish(Facts& facts) const {
  LatencyCounts allocations;
  LatencyCounts releases;
  for (std::size_t index = 0; index < kinds_->size(); ++index) {
    const auto kind = static_cast<trace::EventKind>(index);
    const auto& counts = (*kinds_)[index];
    const auto calls = counts.latency.calls();
    if (calls == 0) {
      continue;
    }
    facts.by_kind.push_back({kind, calls, counts.bytes, counts.latency.finish()});
    facts.totals.events += calls;
    facts.totals.allocator_ns += counts.latency.sum_ns;
    facts.totals.reallocs += trace::is_realloc(kind) ? calls : 0;
    if (trace::is_allocation(kind)) {
      allocations.add(counts.latency);
    } else if (trace::is_release(kind)) {
      releases.add(counts.latency);
    }
  }
  facts.allocation_latency = allocations.finish();
  facts.release_latency = releases.finish();
}

void LatencyByClass::add(const LatencyByClass& other) noexcept {
  for (std::size_t index = 0; index < classes_->size(); ++index) {
    (*classes_)[index].add((*other.classes_)[index]);
  }
}

}  // namespace heapwright::analyze
