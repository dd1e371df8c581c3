// SPDX-License-Identifier: MIT
// length: one test for each way in which calls are slow
#include "analyze/causes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "memory_trace.hpp"
#include "scan_records.hpp"

namespace heapwright::analyze {
namespace {

using trace::EventKind;
using trace::KernelWork;

constexpr char glibc[] = "glibc 2.36 (/lib/x86_64-linux-gnu/libc.so.6)";

MemoryTrace trace_with_kernel_records() {
  MemoryTrace trace;
  trace.metadata_record.allocator = glibc;
  trace.metadata_record.conditions = {"kernel_events\trecorded"};
  return trace;
}

Call call(EventKind kind, std::uint64_t begin_ns, std::uint32_t duration_ns, std::uint64_t size,
          std::uint64_t address, const KernelWork& kernel = {}) {
  const bool is_release = trace::is_release(kind);
  return {kind,
          begin_ns,
          duration_ns,
          is_release ? 0 : size,
          is_release ? 0 : size + 8,
          address,
          0,
          is_release ? 0U : 1U,
          0,
          kernel};
}

SlowCause cause_of(const Call& slow, const trace::Metadata& metadata) {
  MemoryTrace trace;
  trace.metadata_record = metadata;
  trace.add(0, slow);
  const Facts facts = facts_of(trace);
  EXPECT_EQ(facts.slow_calls.size(), 1U);
  EXPECT_EQ(facts.slow_calls[0].calls, 1U);
  EXPECT_EQ(facts.slow_calls[0].duration_ns, slow.duration_ns);
  EXPECT_EQ(facts.slowest[0].cause, facts.slow_calls[0].cause);
  return static_cast<SlowCause>(facts.slow_calls[0].cause);
}

TEST(Causes, TheLargestShareIsTheCause) {
  const auto metadata = trace_with_kernel_records().metadata_record;
  const auto cause = [&](const KernelWork& kernel, std::uint32_t duration_ns = 100'000) {
    return cause_of(call(EventKind::malloc_, 1000, duration_ns, 500, 0x10000, kernel), metadata);
  };
  EXPECT_EQ(cause({.faults = 9, .fault_ns = 60'000}), SlowCause::page_faults);
  EXPECT_EQ(cause({.faults = 9, .fault_ns = 40'000}), SlowCause::own_work);
  EXPECT_EQ(cause({.faults = 9, .preemptions = 1, .fault_ns = 15'000, .preempted_ns = 81'000}),
            SlowCause::preempted);
  EXPECT_EQ(cause({.faults = 9, .preemptions = 1, .fault_ns = 25'000, .preempted_ns = 70'000}),
            SlowCause::page_faults)
      << "30 us of its own: slow on an idle machine, too";
  EXPECT_EQ(cause({.waits = 2, .preemptions = 1, .waited_ns = 60'000, .preempted_ns = 30'000}),
            SlowCause::waited);
  EXPECT_EQ(cause({.mappings = 1}), SlowCause::mapping);
  EXPECT_EQ(cause({}), SlowCause::own_work);
  EXPECT_EQ(cause({}, 40'000), SlowCause::unexplained) << "an interrupt takes as long";
  EXPECT_EQ(cause({.is_incomplete = true}), SlowCause::unknown);
}

// What it waited for is seen; whether it worked in the rest is not.
TEST(Causes, OfLostRecordsNoWorkIsInferred) {
  auto trace = trace_with_kernel_records();
  trace.add(0, call(EventKind::malloc_, 1000, 200'000, 500, 0x10000,
                    {.waits = 1, .waited_ns = 120'000, .is_incomplete = true}));
  const Facts facts = facts_of(trace);
  ASSERT_EQ(facts.slow_calls.size(), 1U);
  EXPECT_EQ(static_cast<SlowCause>(facts.slow_calls[0].cause), SlowCause::waited);
  EXPECT_EQ(static_cast<SlowCause>(facts.slow_calls[0].work), SlowCause::unknown);
}

TEST(Causes, WaitsWhileTheRecorderLooksAtPagesAreApart) {
  auto trace = trace_with_kernel_records();
  add_scan(trace, {{0, UINT64_MAX >> 8, 20'000, 20'100, 0, 0}}, {}, {});
  for (const std::uint64_t begin_ns : {10'000, 19'990, 20'090, 30'000}) {
    trace.add(0,
              call(EventKind::malloc_, begin_ns, 50, 500, 0x10000 + begin_ns, {.waits = 1, .waited_ns = 20}));
  }
  const Facts facts = facts_of(trace);
  EXPECT_EQ(facts.kernel.waited_ns, 80U);
  EXPECT_EQ(facts.kernel.waited_in_scans_ns, 40U);
}

// Whether it ran in that time is not known: it is in no sum of the allocator's.
TEST(Causes, TimeOfLostRecordsIsInDoubt) {
  auto trace = trace_with_kernel_records();
  trace.add(0, call(EventKind::malloc_, 1000, 100'000, 500, 0x10000,
                    {.faults = 1,
                     .waits = 1,
                     .mappings = 1,
                     .fault_ns = 5'000,
                     .waited_ns = 20'000,
                     .mapped_address = 0x10000,
                     .mapped_bytes = 4096,
                     .is_incomplete = true}));
  trace.add(0, call(EventKind::malloc_, 200'000, 3'000, 500, 0x20000));
  const Facts facts = facts_of(trace);
  EXPECT_EQ(facts.kernel.incomplete_calls, 1U);
  EXPECT_EQ(facts.kernel.doubtful_ns, 75'000U);
  EXPECT_EQ(facts.totals.allocator_ns, 8'000U);
  EXPECT_EQ(facts.stacks[1].allocator_ns, 8'000U);
  EXPECT_EQ(facts.heap_growths.at(0).duration_ns, 5'000U);
  ASSERT_EQ(facts.slow_calls.size(), 1U);
  EXPECT_EQ(static_cast<SlowCause>(facts.slow_calls[0].cause), SlowCause::unknown);
  EXPECT_EQ(facts.slow_calls[0].longest_ns, 80'000U);
}

TEST(Causes, WithoutTheKernelsRecordsOnlyWhatTheCallsTellIsSaid) {
  trace::Metadata metadata;
  metadata.allocator = glibc;
  const auto cause = [&](const Call& slow) { return cause_of(slow, metadata); };
  EXPECT_EQ(cause(call(EventKind::malloc_, 1000, 100'000, 500, 0x10000)), SlowCause::unknown);
  EXPECT_EQ(cause(call(EventKind::malloc_trim_, 1000, 100'000, 0, 0)), SlowCause::trimming);
}

TEST(Causes, TheProgramsOwnMappingCallsAreNobodysOwnWork) {
  for (const auto kind : {EventKind::munmap_, EventKind::madvise_, EventKind::mprotect_}) {
    auto trace = trace_with_kernel_records();
    trace.add(0, {kind, 1000, 90'000, 8192, 0, 0x7f0000001000, 0, 1, 0, {}});
    EXPECT_EQ(facts_of(trace).slowest[0].cause, static_cast<std::uint8_t>(SlowCause::own_mapping));
  }
}

TEST(Causes, CallsBelowTheLimitHaveNone) {
  auto trace = trace_with_kernel_records();
  trace.add(0, call(EventKind::malloc_, 1000, slow_from_ns - 4, 500, 0x10000));
  trace.add(0, call(EventKind::malloc_, 50'000, slow_from_ns, 500, 0x20000));
  const Facts facts = facts_of(trace);
  ASSERT_EQ(facts.slow_calls.size(), 1U);
  EXPECT_EQ(facts.slow_calls[0].calls, 1U);
}

// Small blocks are freed, some of them again in use; then a large request.
Facts consolidating(const std::string& allocator, std::uint64_t reused) {
  auto trace = trace_with_kernel_records();
  trace.metadata_record.allocator = allocator;
  std::uint64_t now_ns = 0;
  constexpr std::uint64_t blocks = 5000;
  for (std::uint64_t i = 0; i < blocks; ++i) {
    trace.malloc(0, now_ns += 100, 0x100000 + i * 64, 24, i < 4000 ? 3 : 4);
  }
  for (std::uint64_t i = 0; i < blocks; ++i) trace.free(0, now_ns += 100, 0x100000 + i * 64);
  for (std::uint64_t i = 0; i < reused; ++i) trace.malloc(0, now_ns += 100, 0x100000 + i * 64, 24);
  trace.add(0, call(EventKind::malloc_, now_ns += 1000, 80'000, 2000, 0x900000));
  trace.add(0, call(EventKind::malloc_, now_ns += 100'000, 90'000, 2000, 0xa00000));
  return facts_of(trace);
}

TEST(Causes, ConsolidationIsOfTheFreesSinceTheLastOne) {
  const Facts facts = consolidating(glibc, 1000);
  ASSERT_EQ(facts.slowest.front().duration_ns, 90'000U);
  EXPECT_EQ(facts.slowest[0].cause, static_cast<std::uint8_t>(SlowCause::own_work))
      << "nothing is left to merge";
  EXPECT_EQ(facts.slowest[1].cause, static_cast<std::uint8_t>(SlowCause::consolidation));
  EXPECT_EQ(facts.slowest[1].small_frees, 4000U);
  EXPECT_EQ(facts.slowest[1].small_frees_stack, 3U);
}

TEST(Causes, ASmallFreeMergesNothing) {
  auto trace = trace_with_kernel_records();
  for (std::uint64_t i = 0; i < 3000; ++i) trace.malloc(0, i * 100, 0x100000 + i * 64, 24);
  for (std::uint64_t i = 0; i < 2999; ++i) trace.free(0, 400'000 + i * 100, 0x100000 + i * 64);
  trace.free(0, 800'000, 0x100000 + 2999 * 64, 60'000);
  EXPECT_EQ(facts_of(trace).slowest[0].cause, static_cast<std::uint8_t>(SlowCause::own_work));
}

// The list of the blocks has its own mapping: its end merges nothing, the next large request does.
TEST(Causes, TheEndOfAMappingBetweenMergesNothing) {
  auto trace = trace_with_kernel_records();
  std::uint64_t now_ns = 0;
  constexpr std::uint64_t blocks = 5000;
  trace.add(0, {EventKind::new_plain, now_ns += 1000, 400, 200'000, 200'688, 0x7f0000001010, 0, 5, 0, {}});
  for (std::uint64_t i = 0; i < blocks; ++i) trace.malloc(0, now_ns += 100, 0x100000 + i * 64, 4);
  for (std::uint64_t i = 0; i < blocks; ++i) trace.free(0, now_ns += 100, 0x100000 + i * 64);
  trace.add(0, call(EventKind::delete_sized, now_ns += 1000, 90'000, 0, 0x7f0000001010));
  trace.add(0, call(EventKind::malloc_, now_ns += 100'000, 230'000, 1024, 0x900000,
                    {.preemptions = 9, .preempted_ns = 150'000}));
  const Facts facts = facts_of(trace);
  ASSERT_GE(facts.slowest.size(), 2U);
  EXPECT_EQ(facts.slowest[0].cause, static_cast<std::uint8_t>(SlowCause::consolidation));
  EXPECT_EQ(facts.slowest[0].small_frees, blocks);
  EXPECT_EQ(facts.slowest[1].cause, static_cast<std::uint8_t>(SlowCause::own_mapping));
}

TEST(Causes, OnlyAllocatorsThatDeferMergingConsolidate) {
  for (const char* allocator : {"glibc 2.43 (/lib/libc.so.6)", "jemalloc 5.3.0", "", "glibc"}) {
    EXPECT_EQ(consolidating(allocator, 0).slowest[1].cause, static_cast<std::uint8_t>(SlowCause::own_work))
        << allocator;
  }
  EXPECT_EQ(consolidating(glibc, 4500).slowest[1].cause, static_cast<std::uint8_t>(SlowCause::own_work))
      << "500 blocks are merged in less time";
}

TEST(Causes, TimeOffTheProcessorIsNotTheAllocators) {
  auto trace = trace_with_kernel_records();
  trace.add(0,
            call(EventKind::malloc_, 1000, 100'000, 24, 0x10000, {.preemptions = 1, .preempted_ns = 90'000}));
  trace.add(0, call(EventKind::free_, 200'000, 50'000, 24, 0x10000, {.waits = 1, .waited_ns = 45'000}));
  trace.add(0, call(EventKind::malloc_, 300'000, 400, 24, 0x10000));
  const Facts facts = facts_of(trace);
  EXPECT_EQ(facts.totals.allocator_ns, 10'000U + 5'000U + 400U);
  EXPECT_EQ(facts.threads[0].allocator_ns, 10'000U + 5'000U + 400U);
  EXPECT_EQ(facts.sites[1].allocator_ns, 10'400U);
  EXPECT_EQ(facts.sites[1].release_ns, 5'000U);
  EXPECT_EQ(facts.kernel.preempted_ns, 90'000U);
  EXPECT_EQ(facts.kernel.waited_ns, 45'000U);
  EXPECT_EQ(facts.allocation_latency.max_ns, 100'000U) << "as the caller saw it";
}

TEST(Causes, RowsSumUpOverThreadsAndChunks) {
  auto trace = trace_with_kernel_records();
  trace.chunk_events = 7;
  std::uint64_t calls = 0;
  std::uint64_t faults = 0;
  for (std::uint32_t thread = 0; thread < 3; ++thread) {
    for (std::uint64_t i = 0; i < 100; ++i) {
      const auto duration = static_cast<std::uint32_t>(i % 10 == 0 ? 100'000 : 40);
      const auto address = 0x100000 * (thread + 1) + i * 64;
      KernelWork kernel;
      if (i % 4 == 0) kernel = {.faults = 1, .fault_ns = 20};
      trace.add(thread, call(EventKind::malloc_, i * 200'000, duration, 24, address, kernel));
      trace.add(thread, call(EventKind::free_, i * 200'000 + 110'000, duration, 24, address));
      calls += i % 10 == 0 ? 2 : 0;
      faults += kernel.faults;
    }
  }
  trace.add(3, call(EventKind::mallopt_, 5000, 30'000, 0, 0));
  const Facts facts = facts_of(trace);
  std::uint64_t told = 0;
  for (const auto& row : facts.slow_calls) told += row.calls;
  EXPECT_EQ(told, calls + 1);
  EXPECT_EQ(facts.kernel.faults, faults);
}

// Calls and times by what slow calls have in common, as the test itself counts them.
TEST(Causes, EachSlowCallIsInOneRowOfItsSiteAndSize) {
  auto trace = trace_with_kernel_records();
  trace.chunk_events = 11;
  struct Sum {
    std::uint64_t calls, duration_ns, descheduled_ns;
    bool operator==(const Sum&) const = default;
  };
  using Key = std::tuple<EventKind, std::uint32_t, unsigned>;
  std::map<Key, Sum> expected;
  const auto slow = [&](std::uint32_t thread, Call of, std::uint32_t site, unsigned size_class) {
    trace.add(thread, of);
    auto& sum = expected[{of.kind, site, size_class}];
    ++sum.calls;
    sum.duration_ns += of.duration_ns;
    sum.descheduled_ns += std::min<std::uint64_t>(of.kernel.waited_ns, of.duration_ns);
  };
  std::uint64_t now_ns = 0;
  for (std::uint32_t i = 0; i < 120; ++i) {
    const std::uint32_t stack = 1 + i % 5;
    const std::uint64_t size = std::uint64_t{40} << i % 4;
    const auto address = 0x100000 + std::uint64_t{i} * 4096;
    auto one = call(EventKind::malloc_, now_ns += 200'000, 25'000 + i * 100, size, address);
    one.stack = stack;
    if (i % 3 == 0) one.kernel = {.waits = 1, .waited_ns = i % 2 == 0 ? 24'000U : 99'999U};
    slow(i % 3, one, stack / 2, 6 + i % 4);
    if (i % 7 == 0) {
      slow(1, call(EventKind::free_, now_ns += 200'000, 30'000, 0, address), stack / 2, 6 + i % 4);
    }
  }
  slow(0, call(EventKind::free_, now_ns += 200'000, 30'000, 0, 0x7000), 0, SlowCalls::no_size_class);
  slow(0, call(EventKind::malloc_trim_, now_ns += 200'000, 30'000, 0, 0), 0, SlowCalls::no_size_class);
  Options options;
  options.site_of_stack = {0, 0, 1, 1, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  const Facts facts = facts_of(trace, options);
  std::map<Key, Sum> found;
  for (const auto& row : facts.slow_calls) {
    auto& sum = found[{row.kind, row.site, row.size_class}];
    sum.calls += row.calls;
    sum.duration_ns += row.duration_ns;
    sum.descheduled_ns += row.descheduled_ns;
  }
  EXPECT_EQ(found, expected);
}

TEST(Causes, AWindowLooksAtItsOwnCalls) {
  auto trace = trace_with_kernel_records();
  trace.add(0, call(EventKind::malloc_, 1000, 100'000, 24, 0x10000, {.faults = 5, .fault_ns = 90'000}));
  trace.add(0, call(EventKind::malloc_, 500'000, 100'000, 24, 0x20000, {.faults = 7, .fault_ns = 90'000}));
  Options options;
  options.from_ns = 400'000;
  const Facts facts = facts_of(trace, options);
  ASSERT_EQ(facts.slow_calls.size(), 1U);
  EXPECT_EQ(facts.slow_calls[0].calls, 1U);
  EXPECT_EQ(facts.kernel.faults, 7U);
}

TEST(Causes, OfChosenSitesOnly) {
  auto trace = trace_with_kernel_records();
  auto other =
      call(EventKind::malloc_, 1000, 100'000, 24, 0x10000, {.preemptions = 1, .preempted_ns = 90'000});
  other.stack = 2;
  trace.add(0, other);
  trace.add(0, call(EventKind::free_, 200'000, 100'000, 24, 0x10000));
  trace.add(0, call(EventKind::malloc_, 500'000, 60'000, 24, 0x20000));
  Options options;
  options.stack_chosen = {0, 1};
  const Facts facts = facts_of(trace, options);
  ASSERT_EQ(facts.slow_calls.size(), 1U);
  EXPECT_EQ(facts.slow_calls[0].duration_ns, 60'000U);
  EXPECT_EQ(facts.kernel.preemptions, 0U);
  EXPECT_EQ(facts.totals.allocator_ns, 60'000U);
}

TEST(Causes, GrowthOfTheHeapIsOfItsSiteAndNotThatOfMappedBlocks) {
  auto trace = trace_with_kernel_records();
  const auto growing = [&](std::uint64_t begin_ns, std::uint32_t stack, std::uint64_t usable,
                           std::uint64_t mapped_at, std::uint64_t waited_ns = 0) {
    trace.add(0, {EventKind::malloc_,
                  begin_ns,
                  1600,
                  usable - 8,
                  usable,
                  0x100000 + begin_ns * 16,
                  0,
                  stack,
                  0,
                  {.mappings = 1, .waited_ns = waited_ns, .mapped_address = mapped_at}});
  };
  growing(1008, 2, 1032, 0x555500021000);
  growing(20'000, 2, 1032, 0x7f0000000000 - 4096, 600);
  growing(40'000, 3, 4024, std::uint64_t{64} << 20);
  growing(60'000, 4, 200'688, 0x7f0000000000);  // a mapping of its own
  const Facts facts = facts_of(trace);
  EXPECT_EQ(facts.kernel.mapping_calls, 4U);
  ASSERT_EQ(facts.heap_growths.size(), 2U);
  EXPECT_EQ(facts.heap_growths[0].site, 2U);
  EXPECT_EQ(facts.heap_growths[0].calls, 2U);
  EXPECT_EQ(facts.heap_growths[0].duration_ns, 1600U + 1000U);
  EXPECT_EQ(facts.heap_growths[0].arena_calls, 0U);
  EXPECT_EQ(facts.heap_growths[1].arena_calls, 1U);
  trace.metadata_record.allocator = "jemalloc 5.3.0";
  EXPECT_TRUE(facts_of(trace).heap_growths.empty());
}

TEST(Causes, LargeBlocksOfTheHeapCountSinceTheThresholdRose) {
  auto trace = trace_with_kernel_records();
  const auto large = [&](std::uint64_t begin_ns, std::uint64_t address, std::uint64_t size,
                         std::uint64_t usable) {
    trace.add(0, {EventKind::malloc_, begin_ns, 16, size, usable, address, 0, 5, 0, {}});
  };
  large(1000, 0x555500001020, 150'000, 150'008);  // found in the heap all the same
  large(2000, 0x7f0000001010, 200'000, 200'688);  // a mapping
  trace.free(0, 3000, 0x7f0000001010);
  large(4000, 0x555500102020, 190'000, 190'008);
  large(5000, 0x7f0000009010, 300'000, 303'088);  // still a mapping
  const Facts facts = facts_of(trace);
  EXPECT_EQ(facts.large_heap_blocks.calls, 1U);
  EXPECT_EQ(facts.large_heap_blocks.bytes, 190'008U);
}

TEST(Causes, TheEndOfAMappingIsToldFromThatOfAnotherLargeBlock) {
  for (const std::uint64_t usable : {200'688U, 200'680U}) {
    auto trace = trace_with_kernel_records();
    trace.add(0, {EventKind::malloc_, 1000, 16, 200'000, usable, 0x7f0000001010, 0, 5, 0, {}});
    trace.free(0, 2000, 0x7f0000001010, 90'000);
    const auto expected = usable % 16 == 0 ? SlowCause::own_mapping : SlowCause::own_work;
    EXPECT_EQ(facts_of(trace).slowest[0].cause, static_cast<std::uint8_t>(expected));
  }
}

}  // namespace
}  // namespace heapwright::analyze
