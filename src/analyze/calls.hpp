// SPDX-License-Identifier: MIT
// Everything a call tells by itself, whatever the order of the calls. Each
// decoding thread counts into its own CallFacts; the sums are added up in
// the end.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/facts.hpp"
#include "analyze/latency.hpp"
#include "analyze/scope.hpp"
#include "analyze/sites.hpp"
#include "analyze/sizes.hpp"
#include "analyze/slowest.hpp"
#include "analyze/threads.hpp"
#include "analyze/timeline.hpp"

namespace heapwright::analyze {

// Sums over consecutive calls of one thread within one step of the timeline.
struct CallSums {
  std::uint64_t allocations = 0;
  std::uint64_t releases = 0;
  std::uint64_t failed = 0;
  std::uint64_t null_frees = 0;
  std::uint64_t requested_bytes = 0;
  std::uint64_t excess_bytes = 0;
  std::uint64_t allocator_ns = 0;
};

class CallFacts {
 public:
  explicit CallFacts(const Scope& scope);

  void add_call(trace::EventKind kind, std::uint32_t duration_ns, std::uint64_t bytes, std::uint64_t weight) noexcept {
    kinds_.add(kind, duration_ns, bytes, weight);
  }
  // A successful allocation; add_call is apart.
  void add_block(std::uint32_t stack, std::uint64_t size_bytes, std::uint64_t excess_bytes, std::uint32_t duration_ns,
                 bool is_realloc, std::uint64_t weight) {
    sizes_.add(size_bytes, excess_bytes, weight);
    classes_.add(size_class_of(size_bytes), duration_ns, weight);
    sites_.add(stack, size_bytes, excess_bytes, duration_ns, is_realloc, weight);
  }
  void add_mapping(trace::EventKind kind, std::uint64_t bytes) noexcept;
  void add_sums(std::uint32_t lane, std::uint64_t begin_ns, const CallSums& sums);
  Slowest& slowest() noexcept { return slowest_; }

  void add(const CallFacts& other);
  // Fills the order-free columns. by_size must have size_class_count rows.
  void finish(Facts& facts) const;

 private:
  const Scope& scope_;
  LatencyByKind kinds_;
  LatencyByClass classes_;
  Sizes sizes_;
  SiteCalls sites_;
  std::vector<ThreadCalls> threads_;  // by lane
  TimelineCalls timeline_;
  Slowest slowest_;
  CallSums sums_;
  std::uint64_t mapped_bytes_ = 0;
  std::uint64_t unmapped_bytes_ = 0;
};

}  // namespace heapwright::analyze
