// SPDX-License-Identifier: MIT
#include "analyze/causes.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>

#include "analyze/facts.hpp"
#include "analyze/facts/sites.hpp"
#include "analyze/histogram.hpp"
#include "analyze/mmap_threshold.hpp"
#include "analyze/sites.hpp"

namespace heapwright::analyze {
namespace {

// Merging a free block takes at least 5 ns, and at most this if it is not cached.
constexpr std::uint64_t most_ns_per_merge = 150;
constexpr std::uint64_t least_merges = 1000;
constexpr std::uint64_t arena_bytes = 64 * 1024 * 1024;
static_assert(SlowCalls::no_size_class == size_class_count);

// 2043 for "glibc 2.43 (/lib/...)"; 0 if it is not glibc, or the version is unknown.
unsigned glibc_version(std::string_view allocator) {
  constexpr std::string_view name = "glibc ";
  if (!allocator.starts_with(name)) return 0;
  allocator.remove_prefix(name.size());
  unsigned major = 0;
  unsigned minor = 0;
  const auto* const end = allocator.data() + allocator.size();
  const auto dot = std::from_chars(allocator.data(), end, major).ptr;
  if (dot == end || *dot != '.') return 0;
  std::from_chars(dot + 1, end, minor);
  return major * 1000 + minor;
}

bool has_condition(const trace::Metadata& metadata, std::string_view condition) {
  return std::find(metadata.conditions.begin(), metadata.conditions.end(), condition) !=
         metadata.conditions.end();
}

// The program's own calls that are one system call, which the kernel's records do not show.
bool ends_mapping(trace::EventKind kind) {
  using trace::EventKind;
  return kind == EventKind::munmap_ || kind == EventKind::mremap_ || kind == EventKind::mprotect_ ||
         kind == EventKind::madvise_;
}

// Whether the call would be told without other load, too: for work that has a name, or that a person notices.
bool would_be_told(SlowCause work, std::uint64_t work_ns) {
  constexpr std::uint64_t noticed_ns = 1'000'000;
  const bool is_named =
      work != SlowCause::own_work && work != SlowCause::unexplained && work != SlowCause::unknown;
  return is_named || work_ns >= noticed_ns;
}

}  // namespace

CauseRules::CauseRules(const order::Source& source)
    : has_kernel_records(has_condition(source.metadata(), "kernel_events\trecorded")),
      is_glibc(source.metadata().allocator.starts_with("glibc")),
      has_fastbins(glibc_version(source.metadata().allocator) != 0 &&
                   glibc_version(source.metadata().allocator) < 2043) {
  for (const auto& scan : source.scans()) scans.emplace_back(scan.begin_ns, scan.end_ns);
}

bool CauseRules::is_in_scan(std::uint64_t begin_ns, std::uint64_t end_ns) const noexcept {
  const auto next = std::partition_point(scans.begin(), scans.end(),
                                         [&](const auto& scan) { return scan.second < begin_ns; });
  return next != scans.end() && next->first <= end_ns;
}

Causes::Causes(const CauseRules& rules, std::uint32_t slowest_calls, SlowBins bins)
    : rules_(rules), slowest_(slowest_calls), bins_(std::move(bins)) {}

void Causes::add_kernel_work(const NotedCall& noted) {
  const auto& call = noted.call;
  const auto& work = noted.work;
  kernel_.faults += work.faults;
  kernel_.fault_ns += work.fault_ns;
  kernel_.waits += work.waits;
  kernel_.waited_ns += work.waited_ns;
  if (work.waits != 0 && rules_.is_in_scan(call.begin_ns, call.begin_ns + call.duration_ns)) {
    kernel_.waited_in_scans_ns += work.waited_ns;
  }
  kernel_.preemptions += work.preemptions;
  kernel_.preempted_ns += work.preempted_ns;
  kernel_.incomplete_calls += work.is_incomplete ? 1 : 0;
  kernel_.doubtful_ns += work.doubtful_ns(call.duration_ns);
  const auto off_ns = work.off_processor_ns(call.duration_ns);
  off_processor_ns_ += off_ns;
  if (work.mappings != 0) add_mapping(noted, call.duration_ns - off_ns);
  if (off_ns != 0) {
    auto& stack = descheduled_[call.stack];
    (noted.is_release ? stack.release_ns : stack.allocator_ns) += off_ns;
  }
}

void Causes::add_mapping(const NotedCall& noted, std::uint64_t on_processor_ns) {
  const bool is_of_arena = rules_.is_glibc && noted.work.mapped_address % arena_bytes == 0;
  ++kernel_.mapping_calls;
  kernel_.mapping_ns += on_processor_ns;
  kernel_.arena_growths += is_of_arena ? 1 : 0;
  const bool is_of_heap = trace::is_allocation(noted.call.kind) && !is_mapped_chunk(noted.usable_bytes);
  if (rules_.is_glibc && is_of_heap) {
    growths_[noted.call.stack].add({1, on_processor_ns, is_of_arena ? 1U : 0U});
  }
}

// The main part of the time on a processor.
SlowCause Causes::work_of(const NotedCall& noted, const SmallFrees& small) const {
  const auto& work = noted.work;
  const auto seen_ns = work.fault_ns + work.descheduled_ns();
  const auto rest_ns = noted.call.duration_ns - std::min(seen_ns, noted.call.duration_ns);
  if (work.fault_ns > rest_ns) return SlowCause::page_faults;
  if (work.mappings != 0) return SlowCause::mapping;
  if (noted.call.kind == trace::EventKind::malloc_trim_) return SlowCause::trimming;
  // Before consolidation: to end or move a separate mapping, glibc does not touch its heap.
  const bool ends_or_moves = noted.is_release || trace::is_realloc(noted.call.kind);
  if (rules_.is_glibc && ends_or_moves && MmapThreshold::is_mapped_apart(noted.usable_bytes)) {
    return SlowCause::own_mapping;
  }
  // A free merges if it makes a large free block, which a block small enough for a fastbin never does.
  const bool may_merge = noted.is_release ? noted.call.size_bytes > largest_fast_bytes
                                          : noted.call.size_bytes >= least_merging_bytes;
  if (rules_.has_fastbins && may_merge &&
      small.waiting() >= std::max(least_merges, rest_ns / most_ns_per_merge)) {
    return SlowCause::consolidation;
  }
  if (ends_mapping(noted.call.kind)) return SlowCause::own_mapping;
  if (!rules_.has_kernel_records || work.is_incomplete) return SlowCause::unknown;
  return rest_ns >= own_work_from_ns ? SlowCause::own_work : SlowCause::unexplained;
}

SlowCause Causes::add(NotedCall noted, const SmallFrees& small) {
  add_kernel_work(noted);
  auto& call = noted.call;
  if (call.duration_ns < slow_from_ns) return SlowCause::unexplained;
  const auto& kernel = noted.work;
  const bool is_in_doubt = 2 * kernel.doubtful_ns(call.duration_ns) > call.duration_ns;
  const auto work = is_in_doubt ? SlowCause::unknown : work_of(noted, small);
  const auto work_ns = call.duration_ns - std::min(kernel.descheduled_ns(), call.duration_ns);
  auto cause = work;
  const bool is_off = std::max(kernel.preempted_ns, kernel.waited_ns) > work_ns;
  if (is_off && kernel.waited_ns >= kernel.preempted_ns) {
    cause = SlowCause::waited;
  } else if (is_off && (work_ns < slow_from_ns || !would_be_told(work, work_ns))) {
    cause = SlowCause::preempted;
  }
  const auto size_class = noted.is_of_block ? static_cast<std::uint8_t>(size_class_of(call.size_bytes))
                                            : SlowCalls::no_size_class;
  sums_[{call.kind, cause, work, size_class, call.stack}].add(
      {1, call.duration_ns, call.duration_ns - work_ns, work_ns});
  call.cause = static_cast<std::uint8_t>(cause);
  bins_.add(call);
  call.work = static_cast<std::uint8_t>(work);
  call.faults = kernel.faults;
  call.fault_ns = kernel.fault_ns;
  call.waited_ns = kernel.waited_ns;
  call.preempted_ns = kernel.preempted_ns;
  call.mappings = kernel.mappings;
  call.mapped_bytes = kernel.mapped_bytes;
  if (work == SlowCause::consolidation) {
    call.small_frees = small.waiting();
    call.small_frees_stack = small.stack();
  }
  if (slowest_.is_candidate(
          static_cast<std::uint32_t>(std::min<std::uint64_t>(call.duration_ns, UINT32_MAX)))) {
    slowest_.add(call);
  }
  return work;
}

void Causes::add(const Causes& other) {
  for (const auto& [group, sum] : other.sums_) sums_[group].add(sum);
  kernel_.faults += other.kernel_.faults;
  kernel_.fault_ns += other.kernel_.fault_ns;
  kernel_.waits += other.kernel_.waits;
  kernel_.waited_ns += other.kernel_.waited_ns;
  kernel_.waited_in_scans_ns += other.kernel_.waited_in_scans_ns;
  kernel_.preemptions += other.kernel_.preemptions;
  kernel_.preempted_ns += other.kernel_.preempted_ns;
  kernel_.mapping_calls += other.kernel_.mapping_calls;
  kernel_.mapping_ns += other.kernel_.mapping_ns;
  kernel_.arena_growths += other.kernel_.arena_growths;
  kernel_.incomplete_calls += other.kernel_.incomplete_calls;
  kernel_.doubtful_ns += other.kernel_.doubtful_ns;
  off_processor_ns_ += other.off_processor_ns_;
  for (const auto& [stack, from] : other.descheduled_) {
    auto& to = descheduled_[stack];
    to.allocator_ns += from.allocator_ns;
    to.release_ns += from.release_ns;
  }
  for (const auto& [stack, growth] : other.growths_) growths_[stack].add(growth);
  slowest_.add(other.slowest_);
  bins_.add(other.bins_);
}

void Causes::clear() {
  sums_.clear();
  kernel_ = {};
  off_processor_ns_ = 0;
  descheduled_.clear();
  growths_.clear();
  slowest_.clear();
  bins_.clear();
}

void Causes::finish_slow_calls(const SiteMap& sites, Facts& facts) const {
  std::map<Group, Sum> by_site;
  for (const auto& [group, sum] : sums_) {
    auto with_site = group;
    std::get<std::uint32_t>(with_site) = sites.site_of(std::get<std::uint32_t>(group));
    by_site[with_site].add(sum);
  }
  for (const auto& [group, sum] : by_site) {
    const auto& [kind, cause, work, size_class, site] = group;
    facts.slow_calls.push_back({kind, static_cast<std::uint8_t>(cause), static_cast<std::uint8_t>(work),
                                size_class, site, sum.calls, sum.duration_ns, sum.descheduled_ns,
                                sum.longest_ns});
  }
}

void Causes::finish_growths(const SiteMap& sites, Facts& facts) const {
  std::map<std::uint32_t, Growth> by_site;
  for (const auto& [stack, growth] : growths_) by_site[sites.site_of(stack)].add(growth);
  for (const auto& [site, sum] : by_site) {
    facts.heap_growths.push_back({site, sum.calls, sum.duration_ns, sum.arena_calls});
  }
  std::stable_sort(facts.heap_growths.begin(), facts.heap_growths.end(),
                   [](const auto& a, const auto& b) { return a.duration_ns > b.duration_ns; });
}

void Causes::finish(const SiteMap& sites, Facts& facts) const {
  finish_slow_calls(sites, facts);
  finish_growths(sites, facts);
  facts.kernel = kernel_;
  bins_.finish(facts);
  const auto take_off = [](std::uint64_t& total_ns, std::uint64_t off_ns) {
    total_ns -= std::min(total_ns, off_ns);
  };
  take_off(facts.totals.allocator_ns, off_processor_ns_);
  for (const auto& [stack, off] : descheduled_) {
    take_off(facts.stacks[stack].allocator_ns, off.allocator_ns);
    take_off(facts.stacks[stack].release_ns, off.release_ns);
  }
  std::map<std::pair<std::uint64_t, std::uint32_t>, SlowCall> explained;
  for (const auto& call : slowest_.finish()) explained[{call.begin_ns, call.thread}] = call;
  for (auto& call : facts.slowest) {
    const auto found = explained.find({call.begin_ns, call.thread});
    if (found != explained.end() && found->second.duration_ns == call.duration_ns) {
      auto known = found->second;
      known.stack = call.stack;  // of the free, if known
      known.block_stack = call.block_stack;
      call = known;
    }
  }
}

}  // namespace heapwright::analyze
