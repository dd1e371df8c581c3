// SPDX-License-Identifier: MIT
// Facts of single calls, whatever their order: all but the releases of blocks. Each decoding thread counts
// into its own CallFacts; the sums are added up at the end.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analyze/causes.hpp"
#include "analyze/facts/heap_parts.hpp"
#include "analyze/latency.hpp"
#include "analyze/scope.hpp"
#include "analyze/sites.hpp"
#include "analyze/sizes.hpp"
#include "analyze/slowest.hpp"
#include "analyze/spreads.hpp"
#include "analyze/threads.hpp"
#include "analyze/timeline.hpp"
#include "analyze/zeroed_array.hpp"

namespace heapwright::analyze {

struct Facts;

// Sums over consecutive calls of one thread within one step of the timeline.
struct CallSums {
  std::uint64_t allocations = 0;
  std::uint64_t failed = 0;
  std::uint64_t null_frees = 0;
  std::uint64_t requested_bytes = 0;
  std::uint64_t allocator_ns = 0;
};

// The properties that make calls from one stack equal: entry point, size and excess, packed for a single
// comparison. 0: does not fit.
inline std::uint64_t signature_of(trace::EventKind kind, std::uint64_t size_bytes, std::uint64_t excess_bytes,
                                  std::uint64_t weight) noexcept {
  const bool fits = (size_bytes >> 32 | excess_bytes >> 16) == 0 && weight == 1;
  return fits ? size_bytes << 32 | excess_bytes << 8 | static_cast<std::uint64_t>(kind) : 0;
}

// A count of equal calls: everything that follows from their number is added up later, when other calls take
// this entry. One cache line each.
struct alignas(64) EqualCalls {
  std::uint64_t signature;
  std::uint32_t stack;
  std::uint32_t site;
  LatencyCounts* latencies;  // of their entry point and size class
  std::uint64_t sum_ns;
  std::uint64_t count;
  std::uint32_t max_ns;
};

class CallFacts {
 public:
  explicit CallFacts(const Scope& scope);

  // A successful allocation; `signature` is not 0.
  [[gnu::always_inline]] void add_block(std::uint64_t signature, std::uint32_t stack,
                                        std::uint32_t duration_ns) {
    auto& entry = equal_calls_[place_of(signature, stack)];
    if (entry.signature != signature || entry.stack != stack) [[unlikely]] {
      begin_entry(entry, signature, stack);
    }
    ++entry.count;
    entry.sum_ns += duration_ns;
    entry.max_ns = duration_ns > entry.max_ns ? duration_ns : entry.max_ns;
    const auto bucket = bucket_of(duration_ns);
    ++entry.latencies->counts[bucket];
    sites_.add_latency(entry.site, bucket, 1);
  }
  // The same for a call that is not equal to others, or stands for several.
  void add_single_block(trace::EventKind kind, std::uint32_t stack, const SiteCalls& call,
                        std::uint32_t duration_ns);
  // Any other call that is not the release of a block.
  void add_other(trace::EventKind kind, std::uint32_t duration_ns, std::uint64_t bytes);
  void add_releases(const LatencyTable& releases) { latencies_.add(releases); }
  void add_mapping(trace::EventKind kind, std::uint64_t bytes) noexcept;
  // A call of mallopt, by any thread, even before the analysed time.
  void add_option(const AllocatorOption& option);
  void add_sums(std::uint32_t lane, std::uint64_t begin_ns, const CallSums& sums);
  Slowest& slowest() noexcept { return slowest_; }
  // For calls that do not concern blocks.
  Causes& causes() noexcept { return causes_; }
  const SiteCallSums& sites() const noexcept { return sites_; }
  // The spread of a sampled block's allocation; must follow its add_single_block.
  void add_spread(std::uint32_t lane, std::uint64_t begin_ns, std::uint32_t stack, std::uint64_t size_bytes,
                  std::uint64_t excess_bytes) noexcept {
    spreads_.add(stack, lane, scope_.steps.step_of(begin_ns), size_bytes, excess_bytes);
  }

  // Adds up the pending equal calls. Must be called before the next two functions.
  void settle();
  void add(const CallFacts& other);
  // Fills the order-free columns. by_size must have size_class_count rows.
  void finish(Facts& facts) const;

 private:
  static constexpr unsigned place_bits = 11;

  static std::size_t place_of(std::uint64_t signature, std::uint32_t stack) noexcept {
    constexpr std::uint64_t odd = 0xd6e8feb86659fd93ULL;
    return static_cast<std::size_t>(((signature + stack * odd) * 0x9e3779b97f4a7c15ULL) >> (64 - place_bits));
  }
  void begin_entry(EqualCalls& entry, std::uint64_t signature, std::uint32_t stack);
  void settle(EqualCalls& entry);
  void add_calls(LatencyCounts& latencies, std::uint32_t stack, const SiteCalls& calls);

  const Scope& scope_;
  LatencyTable latencies_;
  Sizes sizes_;
  SiteCallSums sites_;
  ZeroedArray<EqualCalls> equal_calls_;
  std::vector<ThreadCalls> threads_;  // by lane
  TimelineCalls timeline_;
  CallSpreads spreads_;
  Slowest slowest_;
  Causes causes_;
  CallSums sums_;
  std::map<std::uint32_t, AllocatorOption> options_;  // by parameter
  std::uint64_t mapped_bytes_ = 0;
  std::uint64_t unmapped_bytes_ = 0;
};

}  // namespace heapwright::analyze
