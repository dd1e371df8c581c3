// SPDX-License-Identifier: MIT
#include "analyze/calls.hpp"

#include <algorithm>

#include "analyze/facts.hpp"
#include "analyze/facts/threads.hpp"

namespace heapwright::analyze {
namespace {

void add_to(CallSums& to, const CallSums& from) {
  to.allocations += from.allocations;
  to.failed += from.failed;
  to.null_frees += from.null_frees;
  to.requested_bytes += from.requested_bytes;
  to.allocator_ns += from.allocator_ns;
}

}  // namespace

CallFacts::CallFacts(const Scope& scope)
    : scope_(scope),
      sites_(scope.sites, scope.histogram_counts),
      equal_calls_(std::size_t{1} << place_bits),
      threads_(scope.thread_of_lane.size()),
      timeline_(scope.steps.points()),
      spreads_(scope.sites, scope.weight, scope.thread_of_lane.size(), scope.steps.points()),
      slowest_(scope.slowest_calls),
      causes_(scope.cause_rules, scope.slowest_calls,
              SlowBins(scope.wants_activity ? &scope.steps : nullptr)) {}

void CallFacts::add_calls(LatencyCounts& latencies, std::uint32_t stack, const SiteCalls& calls) {
  latencies.sum_ns += calls.allocator_ns;
  latencies.max_ns = std::max(latencies.max_ns, calls.max_ns);
  latencies.bytes += calls.size_bytes * calls.calls;
  latencies.overhead_bytes += calls.excess_bytes * calls.calls;
  sizes_.add(calls.size_bytes, calls.calls);
  sites_.add(stack, calls);
}

void CallFacts::add_single_block(trace::EventKind kind, std::uint32_t stack, const SiteCalls& call,
                                 std::uint32_t duration_ns) {
  auto& latencies = latencies_.cell(kind, size_class_of(call.size_bytes));
  const auto bucket = bucket_of(duration_ns);
  latencies.counts[bucket] += call.calls;
  sites_.add_latency(scope_.sites.site_of(stack), bucket, call.calls);
  add_calls(latencies, stack, call);
}

void CallFacts::settle(EqualCalls& entry) {
  if (entry.count == 0) {
    return;
  }
  const auto kind = static_cast<trace::EventKind>(entry.signature & UINT8_MAX);
  add_calls(*entry.latencies, entry.stack,
            {entry.count, entry.signature >> 32, entry.signature >> 8 & UINT16_MAX, entry.sum_ns,
             entry.max_ns, trace::is_realloc(kind), trace::is_operator_new(kind)});
  entry = {};
}

[[gnu::noinline]] void CallFacts::begin_entry(EqualCalls& entry, std::uint64_t signature,
                                              std::uint32_t stack) {
  settle(entry);
  const auto kind = static_cast<trace::EventKind>(signature & UINT8_MAX);
  auto& latencies = latencies_.cell(kind, size_class_of(signature >> 32));
  entry = {signature, stack, scope_.sites.site_of(stack), &latencies, 0, 0, 0};
}

void CallFacts::settle() {
  for (auto& entry : equal_calls_) {
    settle(entry);
  }
}

void CallFacts::add_other(trace::EventKind kind, std::uint32_t duration_ns, std::uint64_t bytes) {
  latencies_.add(kind, LatencyTable::no_class, duration_ns, scope_.weight.unit());
  latencies_.cell(kind, LatencyTable::no_class).bytes += bytes * scope_.weight.unit();
}

void CallFacts::add_mapping(trace::EventKind kind, std::uint64_t bytes) noexcept {
  if (kind == trace::EventKind::mmap_) {
    mapped_bytes_ += bytes;
  } else if (kind == trace::EventKind::munmap_) {
    unmapped_bytes_ += bytes;
  }
}

void CallFacts::add_option(const AllocatorOption& option) {
  constexpr std::size_t most_options = 64;  // more than any C library has
  if (options_.size() == most_options && options_.count(option.parameter) == 0) return;
  auto& last = options_[option.parameter];
  if (option.time_ns >= last.time_ns) last = option;
}

void CallFacts::add_sums(std::uint32_t lane, std::uint64_t begin_ns, const CallSums& sums) {
  add_to(sums_, sums);
  threads_[lane].add({sums.allocations, sums.requested_bytes, sums.allocator_ns});
  timeline_.add(scope_.steps.step_of(begin_ns), sums.allocations, sums.allocator_ns);
}

void CallFacts::add(const CallFacts& other) {
  latencies_.add(other.latencies_);
  sizes_.add(other.sizes_);
  sites_.add(other.sites_);
  for (std::size_t lane = 0; lane < threads_.size(); ++lane) {
    threads_[lane].add(other.threads_[lane]);
  }
  timeline_.add(other.timeline_);
  spreads_.add(other.spreads_);
  slowest_.add(other.slowest_);
  causes_.add(other.causes_);
  add_to(sums_, other.sums_);
  for (const auto& [parameter, option] : other.options_) add_option(option);
  mapped_bytes_ += other.mapped_bytes_;
  unmapped_bytes_ += other.unmapped_bytes_;
}

void CallFacts::finish(Facts& facts) const {
  latencies_.finish(facts);
  sizes_.finish(facts);
  sites_.finish(facts);
  timeline_.finish(facts.timeline);
  spreads_.finish(scope_.thread_of_lane, facts);
  for (std::size_t lane = 0; lane < threads_.size(); ++lane) {
    auto& thread = facts.threads[scope_.thread_of_lane[lane]];
    thread.allocations = threads_[lane].allocations;
    thread.bytes = threads_[lane].bytes;
    thread.allocator_ns = threads_[lane].allocator_ns;
  }
  facts.slowest = slowest_.finish();
  for (const auto& [parameter, option] : options_) facts.allocator_options.push_back(option);
  auto& totals = facts.totals;
  totals.allocations = sums_.allocations;
  totals.failed = sums_.failed;
  totals.null_frees = sums_.null_frees;
  totals.mapped_bytes = mapped_bytes_;
  totals.unmapped_bytes = unmapped_bytes_;
}

}  // namespace heapwright::analyze
