// SPDX-License-Identifier: MIT
// How long the real calls took: histograms per entry point and per size
// class. Overall latencies are sums of these.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "analyze/facts.hpp"
#include "analyze/histogram.hpp"
#include "trace/event.hpp"

namespace heapwright::analyze {

// Percentiles of `counts` (a value's bucket -> calls), interpolated within a
// bucket. sum and max are taken as given.
Latency latency_of(const std::uint64_t* counts, std::size_t bucket_count, std::uint64_t sum_ns, std::uint64_t max_ns);

struct LatencyCounts {
  std::uint64_t sum_ns = 0;
  std::uint64_t max_ns = 0;
  std::array<std::uint64_t, duration_buckets> counts{};

  void add(std::uint32_t duration_ns, std::uint64_t weight) noexcept {
    counts[bucket_of(duration_ns)] += weight;
    sum_ns += duration_ns * weight;
    max_ns = duration_ns > max_ns ? duration_ns : max_ns;
  }
  void add(const LatencyCounts& other) noexcept;
  std::uint64_t calls() const noexcept;
  Latency finish() const;
};

class LatencyByKind {
 public:
  LatencyByKind() : kinds_(std::make_unique<Kinds>()) {}
  void add(trace::EventKind kind, std::uint32_t duration_ns, std::uint64_t bytes, std::uint64_t weight) noexcept {
    auto& counts = (*kinds_)[static_cast<std::size_t>(kind) % trace::event_kind_limit];
    counts.latency.add(duration_ns, weight);
    counts.bytes += bytes * weight;
  }
  void add(const LatencyByKind& other) noexcept;
  void finish(Facts& facts) const;

 private:
  struct KindCounts {
    LatencyCounts latency;
    std::uint64_t bytes = 0;
  };
  using Kinds = std::array<KindCounts, trace::event_kind_limit>;
  std::unique_ptr<Kinds> kinds_;
};

class LatencyByClass {
 public:
  LatencyByClass() : classes_(std::make_unique<Classes>()) {}
  void add(std::uint32_t size_class, std::uint32_t duration_ns, std::uint64_t weight) noexcept {
    (*classes_)[size_class].add(duration_ns, weight);
  }
  void add(const LatencyByClass& other) noexcept;
  void clear() noexcept { *classes_ = {}; }
  Latency finish(std::size_t size_class) const { return (*classes_)[size_class].finish(); }
  bool is_used(std::size_t size_class) const { return (*classes_)[size_class].calls() != 0; }

 private:
  using Classes = std::array<LatencyCounts, size_class_count>;
  std::unique_ptr<Classes> classes_;
};

}  // namespace heapwright::analyze
