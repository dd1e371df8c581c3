// SPDX-License-Identifier: MIT
// Durations of the real calls: histograms per entry point and size class. Overall latencies are sums of
// these.
#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include "analyze/facts/latency.hpp"
#include "analyze/histogram.hpp"
#include "trace/event.hpp"

namespace heapwright::analyze {

struct Facts;

// Percentiles of `counts` (bucket of a value -> calls), interpolated within a bucket. sum and max are given
// by the caller.
Latency latency_of(const std::uint64_t* counts, std::size_t bucket_count, std::uint64_t sum_ns,
                   std::uint64_t max_ns);

struct LatencyCounts {
  std::uint64_t sum_ns = 0;
  std::uint64_t max_ns = 0;
  std::uint64_t bytes = 0;
  std::uint64_t overhead_bytes = 0;
  std::array<std::uint64_t, duration_buckets> counts{};

  void add(const LatencyCounts& other) noexcept;
  std::uint64_t calls() const noexcept;
  Latency finish() const;
};

// Calls by entry point and size class of their block: one increment per call serves the latencies by
// function, by size and overall.
class LatencyTable {
 public:
  // For calls that do not concern a known block.
  static constexpr std::size_t no_class = size_class_count;

  [[gnu::always_inline]] LatencyCounts& cell(trace::EventKind kind, std::size_t size_class) {
    auto* found = cells_[static_cast<std::size_t>(kind)][size_class];
    return found != nullptr ? *found : make_cell(kind, size_class);
  }
  [[gnu::always_inline]] void add(trace::EventKind kind, std::size_t size_class, std::uint32_t duration_ns,
                                  std::uint64_t weight) {
    add(cell(kind, size_class), bucket_of(duration_ns), duration_ns, weight);
  }
  [[gnu::always_inline]] static void add(LatencyCounts& counts, std::uint32_t bucket,
                                         std::uint32_t duration_ns, std::uint64_t weight) noexcept {
    counts.counts[bucket] += weight;
    counts.sum_ns += duration_ns * weight;
    counts.max_ns = duration_ns > counts.max_ns ? duration_ns : counts.max_ns;
  }
  void add(const LatencyTable& other);
  void clear();
  // Fills by_kind, the latencies overall and by size class, and the totals that are sums of these. by_size
  // must have size_class_count rows.
  void finish(Facts& facts) const;

 private:
  using Row = std::array<LatencyCounts*, size_class_count + 1>;

  LatencyCounts& make_cell(trace::EventKind kind, std::size_t size_class);
  void finish_kind(trace::EventKind kind, Facts& facts) const;
  void finish_classes(Facts& facts) const;

  std::array<Row, 256> cells_{};  // by any possible kind byte
  std::deque<LatencyCounts> storage_;
};

}  // namespace heapwright::analyze
