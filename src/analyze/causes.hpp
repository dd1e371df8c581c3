// SPDX-License-Identifier: MIT
// Why each slow call was slow, and the kernel's work within all calls.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyze/facts/calls.hpp"
#include "analyze/facts/causes.hpp"
#include "analyze/slow_bins.hpp"
#include "analyze/slowest.hpp"
#include "order/source.hpp"
#include "trace/kernel_work.hpp"
#include "trace/records.hpp"

namespace heapwright::analyze {

struct Facts;
class SiteMap;

// Shorter calls get no cause.
inline constexpr std::uint32_t slow_from_ns = trace::slow_call_ns;
// From this duration on, "no record" means the allocator's own work, or a system call that the kernel's
// records do not show (munmap, mremap, madvise).
inline constexpr std::uint64_t own_work_from_ns = 50'000;

// Blocks that glibc puts into fastbins when they are freed, by default.
inline constexpr std::uint64_t largest_fast_bytes = 120;
// Requests that make it merge these.
inline constexpr std::uint64_t least_merging_bytes = 1009;

// Facts about a trace's allocator and kernel records.
struct CauseRules {
  explicit CauseRules(const order::Source& source);
  bool is_in_scan(std::uint64_t begin_ns, std::uint64_t end_ns) const noexcept;

  bool has_kernel_records;
  bool is_glibc;
  bool has_fastbins;                                           // glibc before 2.43
  std::vector<std::pair<std::uint64_t, std::uint64_t>> scans;  // begin and end, by time
};

// A call that was slow, or in which the kernel did something. `call` has no cause yet.
struct NotedCall {
  SlowCall call;
  trace::KernelWork work;
  std::uint64_t usable_bytes = 0;  // of the block; 0: unknown
  bool is_release = false;
  bool is_of_block = true;  // size_bytes is that of a block
};

// Small freed blocks that wait to be merged, over all arenas. If one site made most of the frees, it is found
// by a majority vote.
class SmallFrees {
 public:
  [[gnu::always_inline]] void add(std::uint32_t stack) noexcept {
    ++waiting_;
    if (votes_ == 0) stack_ = stack;
    votes_ += stack_ == stack ? 1 : -1;
  }
  [[gnu::always_inline]] void reuse() noexcept { waiting_ -= waiting_ != 0 ? 1 : 0; }
  void merge() noexcept { *this = {}; }
  std::uint64_t waiting() const noexcept { return waiting_; }
  std::uint32_t stack() const noexcept { return stack_; }

 private:
  std::uint64_t waiting_ = 0;
  std::int64_t votes_ = 0;
  std::uint32_t stack_ = 0;
};

class Causes {
 public:
  Causes(const CauseRules& rules, std::uint32_t slowest_calls, SlowBins bins = SlowBins());

  // Determines what the call did while on a processor; `small` is the state before the call.
  SlowCause add(NotedCall noted, const SmallFrees& small);
  void add(const Causes& other);
  void clear();
  // Must be called after times and slowest calls are filled in: subtracts the time off the processor from the
  // stacks' times, and adds the causes of the slowest calls.
  void finish(const SiteMap& sites, Facts& facts) const;

 private:
  // The properties that make slow calls alike: entry point, cause, work, size class, stack.
  using Group = std::tuple<trace::EventKind, SlowCause, SlowCause, std::uint8_t, std::uint32_t>;
  struct Sum {
    std::uint64_t calls = 0;
    std::uint64_t duration_ns = 0;
    std::uint64_t descheduled_ns = 0;
    std::uint64_t longest_ns = 0;

    void add(const Sum& other) noexcept {
      calls += other.calls;
      duration_ns += other.duration_ns;
      descheduled_ns += other.descheduled_ns;
      longest_ns = std::max(longest_ns, other.longest_ns);
    }
  };
  struct Descheduled {
    std::uint64_t allocator_ns = 0;
    std::uint64_t release_ns = 0;
  };
  struct Growth {
    std::uint64_t calls = 0;
    std::uint64_t duration_ns = 0;
    std::uint64_t arena_calls = 0;

    void add(const Growth& other) noexcept {
      calls += other.calls;
      duration_ns += other.duration_ns;
      arena_calls += other.arena_calls;
    }
  };
  void add_kernel_work(const NotedCall& noted);
  void add_mapping(const NotedCall& noted, std::uint64_t on_processor_ns);
  void finish_growths(const SiteMap& sites, Facts& facts) const;
  void finish_slow_calls(const SiteMap& sites, Facts& facts) const;
  SlowCause work_of(const NotedCall& noted, const SmallFrees& small) const;

  CauseRules rules_;
  std::map<Group, Sum> sums_;
  KernelSums kernel_;
  std::uint64_t off_processor_ns_ = 0;                          // of all calls, including doubtful times
  std::unordered_map<std::uint32_t, Descheduled> descheduled_;  // by stack
  std::unordered_map<std::uint32_t, Growth> growths_;           // by stack
  Slowest slowest_;
  SlowBins bins_;
};

}  // namespace heapwright::analyze
