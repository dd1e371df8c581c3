// SPDX-License-Identifier: MIT
// What a call tells by itself, whatever the order of the calls: all but the
// releases of blocks. Each decoding thread counts into its own CallFacts; the
// sums are added up in the end.
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
  std::uint64_t failed = 0;
  std::uint64_t null_frees = 0;
  std::uint64_t requested_bytes = 0;
  std::uint64_t allocator_ns = 0;
};

class CallFacts {
 public:
  explicit CallFacts(const Scope& scope);

  // A successful allocation.
  [[gnu::always_inline]] void add_block(trace::EventKind kind, std::uint32_t stack, SiteCall call) {
    call.duration_bucket = bucket_of(call.duration_ns);
    auto& counts = latencies_.cell(kind, size_class_of(call.size_bytes));
    LatencyTable::add(counts, call.duration_bucket, call.duration_ns, call.weight);
    counts.bytes += call.size_bytes * call.weight;
    counts.overhead_bytes += call.excess_bytes * call.weight;
    sizes_.add(call.size_bytes, call.weight);
    sites_.add(stack, call);
  }
  void prefetch(std::uint32_t stack) const noexcept { sites_.prefetch(stack); }
  // Any other call that is not the release of a block.
  void add_other(trace::EventKind kind, std::uint32_t duration_ns, std::uint64_t bytes);
  void add_releases(const LatencyTable& releases) { latencies_.add(releases); }
  void add_mapping(trace::EventKind kind, std::uint64_t bytes) noexcept;
  void add_sums(std::uint32_t lane, std::uint64_t begin_ns, const CallSums& sums);
  Slowest& slowest() noexcept { return slowest_; }

  void add(const CallFacts& other);
  // Fills the order-free columns. by_size must have size_class_count rows.
  void finish(Facts& facts) const;

 private:
  const Scope& scope_;
  LatencyTable latencies_;
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
