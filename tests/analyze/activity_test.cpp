// SPDX-License-Identifier: MIT
// What happened bin by bin: sums worked out by hand, and random traces whose bins sum up to the
// facts that are counted elsewhere.
#include "analyze/facts/activity.hpp"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "analyze/binned_sums.hpp"
#include "analyze/facts/causes.hpp"
#include "analyze/slow_bins.hpp"
#include "analyze/timeline.hpp"
#include "memory_trace.hpp"
#include "random_trace.hpp"

namespace heapwright::analyze {
namespace {

Options with_activity() {
  Options options;
  options.wants_activity = true;
  return options;
}

// By stack and bin: allocations, bytes, time, live bytes.
using BinRow = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;
std::map<std::pair<std::uint32_t, std::uint32_t>, BinRow> rows_of(const Facts& facts) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, BinRow> rows;
  for (const auto& of : facts.path_bins) {
    rows[{of.stack, of.bin}] = {of.allocations, of.bytes, of.allocator_ns, of.live_bytes};
  }
  return rows;
}

}  // namespace

TEST(Activity, IsNotCountedUnlessAskedFor) {
  MemoryTrace trace;
  trace.malloc(0, 0, 0x1000, 20, 1);
  const auto facts = facts_of(trace);
  EXPECT_TRUE(facts.path_bins.empty() && facts.latency_bins.empty() && facts.thread_bins.empty());
  EXPECT_TRUE(facts.bin_end_ns.empty());
}

// 256 bins of 1,000 ns. A call counts where it ends.
TEST(Activity, APathsCallsAndWhatItHoldsAtABinsEnd) {
  MemoryTrace trace;
  trace.malloc(0, 0, 0x1000, 20, 1, 16);
  trace.malloc(1, 900, 0x2000, 30, 2, 200);  // ends in the second bin
  trace.malloc(0, 1'500, 0x3000, 50, 1, 32);
  trace.free(1, 3'500, 0x1000);
  trace.malloc(0, 255'984, 0x4000, 7, 2, 16);  // the end of the time looked at
  const auto facts = facts_of(trace, with_activity());
  ASSERT_EQ(facts.bin_end_ns.size(), 256U);
  EXPECT_EQ(facts.bin_end_ns[0], 1'000U);
  EXPECT_EQ(facts.bin_end_ns[255], 256'000U);
  const auto rows = rows_of(facts);
  EXPECT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows.at({1, 1}), (BinRow{1, 20, 16, 20}));
  EXPECT_EQ(rows.at({2, 2}), (BinRow{1, 30, 200, 30}));
  EXPECT_EQ(rows.at({1, 2}), (BinRow{1, 50, 32, 70}));
  EXPECT_EQ(rows.at({1, 4}), (BinRow{0, 0, 0, 50}))
      << "a free changes what is held, and is no call of the path";
  EXPECT_EQ(rows.at({2, 256}), (BinRow{1, 7, 16, 37}));
}

TEST(Activity, ThreadsAndLatenciesOfABin) {
  MemoryTrace trace;
  trace.malloc(0, 0, 0x1000, 20, 1, 16);
  trace.malloc(5, 100, 0x2000, 30, 2, 200);
  trace.free(5, 400, 0x1000, 48);
  trace.malloc(0, 255'984, 0x4000, 7, 2, 16);
  const auto facts = facts_of(trace, with_activity());
  ASSERT_EQ(facts.thread_bins.size(), 3U);
  std::uint64_t allocations = 0;
  for (const auto& of : facts.thread_bins) {
    allocations += of.allocations;
    if (of.thread == 5) {
      EXPECT_EQ(of.bin, 1U);
      EXPECT_EQ(std::tie(of.allocations, of.releases, of.bytes, of.allocator_ns),
                std::tuple(1U, 1U, 30U, 248U));
    }
  }
  EXPECT_EQ(allocations, 3U);
  std::map<std::tuple<std::uint32_t, int, std::uint64_t>, std::uint64_t> calls;
  for (const auto& of : facts.latency_bins) {
    calls[{of.bin, of.is_release, of.from_ns}] += of.calls;
  }
  const std::map<std::tuple<std::uint32_t, int, std::uint64_t>, std::uint64_t> expected{
      {{1, 0, 16}, 1}, {{1, 0, 192}, 1}, {{1, 1, 48}, 1}, {{256, 0, 16}, 1}};
  EXPECT_EQ(calls, expected);
}

TEST(Activity, AWindowBeginsWithWhatWasLive) {
  MemoryTrace trace;
  trace.malloc(0, 0, 0x1000, 20, 1, 0);
  trace.malloc(0, 50'000, 0x2000, 30, 1, 0);
  trace.free(0, 99'984, 0x2000);
  auto options = with_activity();
  options.from_ns = 40'000;
  const auto rows = rows_of(facts_of(trace, options));
  EXPECT_EQ(rows.at({1, 0}), (BinRow{0, 0, 0, 20})) << "bin 0 is the window's begin";
  std::uint64_t allocations = 0;
  for (const auto& [key, row] : rows) {
    allocations += std::get<0>(row);
  }
  EXPECT_EQ(allocations, 1U);
}

TEST(Activity, FilteredOutIsNotCounted) {
  MemoryTrace trace;
  trace.malloc(0, 0, 0x1000, 20, 1, 16);
  trace.malloc(0, 100, 0x2000, 3000, 2, 16);
  trace.free(0, 400, 0x1000, 16);
  auto options = with_activity();
  options.min_size_bytes = 100;
  const auto facts = facts_of(trace, options);
  for (const auto& of : facts.path_bins) {
    EXPECT_EQ(of.stack, 2U);
  }
  for (const auto& of : facts.latency_bins) {
    EXPECT_EQ(of.is_release, 0U) << "whose block it is, is not known here";
  }
}

// By bin, of and cause: calls and time.
std::map<std::tuple<std::uint32_t, int, int>, std::pair<std::uint64_t, std::uint64_t>> slow_rows(
    const Facts& facts) {
  std::map<std::tuple<std::uint32_t, int, int>, std::pair<std::uint64_t, std::uint64_t>> rows;
  for (const auto& row : facts.slow_bins) {
    auto& [calls, duration_ns] = rows[{row.bin, row.of, row.cause}];
    calls += row.calls;
    duration_ns += row.duration_ns;
    EXPECT_LE(row.from_ns * row.calls, row.duration_ns);
    EXPECT_LT(row.duration_ns, row.from_ns * row.calls * 9 / 8 + 1);
  }
  return rows;
}

// 256 bins of 10 us. The causes are those of causes_test.cpp: 50 us of a kernel that saw nothing are own
// work.
TEST(Activity, SlowCallsOfABinByCause) {
  MemoryTrace trace;
  trace.metadata_record.conditions = {"kernel_events\trecorded"};
  trace.malloc(0, 0, 0x1000, 20, 1, 16);
  trace.malloc(0, 4'000, 0x2000, 30, 2, 30'000);  // ends in the fourth bin
  trace.malloc(0, 40'000, 0x3000, 30, 2, 60'000);
  trace.free(0, 200'000, 0x1000, 60'000);  // begins in bin 21
  trace.malloc(0, 2'559'984, 0x4000, 7, 2, 16);
  const auto rows = slow_rows(facts_of(trace, with_activity()));
  const int own_work = static_cast<int>(SlowCause::own_work);
  const int unexplained = static_cast<int>(SlowCause::unexplained);
  const decltype(rows) expected{
      {{4, 0, unexplained}, {1, 30'000}}, {{11, 0, own_work}, {1, 60'000}}, {{21, 1, own_work}, {1, 60'000}}};
  EXPECT_EQ(rows, expected);
  MemoryTrace plain;
  plain.malloc(0, 0, 0x1000, 20, 1, 30'000);
  EXPECT_TRUE(facts_of(plain).slow_bins.empty()) << "unless asked for";
}

TEST(Activity, SlowCallsSumUpToThoseByCause) {
  MemoryTrace trace;
  trace.metadata_record.conditions = {"kernel_events\trecorded"};
  for (std::uint64_t i = 0; i < 500; ++i) {
    const auto duration_ns = static_cast<std::uint32_t>(10'000 + i * i * 16);
    const auto begin_ns = i * 5'000'000;
    const auto address = 0x1000 + i / 2 * 64;
    if (i % 7 == 0) trace.add(2, {trace::EventKind::malloc_trim_, begin_ns, duration_ns});
    trace.add(1, {i % 2 == 0 ? trace::EventKind::malloc_ : trace::EventKind::free_,
                  begin_ns,
                  duration_ns,
                  i % 2 == 0 ? 100U : 0U,
                  i % 2 == 0 ? 104U : 0U,
                  address,
                  0,
                  i % 2 == 0 ? 1U : 0U,
                  0,
                  {.faults = i % 3 == 0 ? 9U : 0U, .fault_ns = i % 3 == 0 ? duration_ns : 0U}});
  }
  const auto facts = facts_of(trace, with_activity());
  std::map<std::pair<int, int>, std::pair<std::uint64_t, std::uint64_t>> of_bins;
  std::map<std::pair<int, int>, std::pair<std::uint64_t, std::uint64_t>> of_run;
  for (const auto& [key, sum] : slow_rows(facts)) {
    auto& to = of_bins[{std::get<1>(key), std::get<2>(key)}];
    to = {to.first + sum.first, to.second + sum.second};
  }
  for (const auto& row : facts.slow_calls) {
    const int of = row.kind == trace::EventKind::malloc_ ? 0 : row.kind == trace::EventKind::free_ ? 1 : 2;
    auto& to = of_run[{of, row.cause}];
    to = {to.first + row.calls, to.second + row.duration_ns};
  }
  EXPECT_EQ(of_bins, of_run);
  EXPECT_GE(of_bins.size(), 5U);
}

TEST(SlowBins, BinsAreJoinedAsTheOthersAre) {
  const TimeSteps span(0, 256'000, 100);
  SlowBins bins(&span);
  for (std::uint64_t bin = 0; bin < 8; ++bin) {
    bins.add({bin * 1'000 + 500, 30'000, trace::EventKind::free_, 0, 1, 8});
  }
  SlowBins others(&span);
  others.add({7'999, 30'500, trace::EventKind::free_, 0, 1, 8});
  bins.add(others);
  Facts facts;
  facts.bin_end_ns.assign(64, 0);
  bins.finish(facts);
  ASSERT_EQ(facts.slow_bins.size(), 2U);
  EXPECT_EQ(std::tie(facts.slow_bins[0].bin, facts.slow_bins[0].calls), std::tuple(1U, 4U));
  EXPECT_EQ(std::tie(facts.slow_bins[1].bin, facts.slow_bins[1].calls, facts.slow_bins[1].duration_ns),
            std::tuple(2U, 5U, 150'500U));
}

TEST(Activity, BinsSumUpToWhatIsCountedElsewhere) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    RandomTrace random(seed, 3, 600);
    const auto facts = facts_of(random.trace, with_activity());
    std::vector<SiteFacts> sums(facts.stacks.size());
    for (const auto& of : facts.path_bins) {
      auto& sum = sums.at(of.stack);
      sum.allocations += of.allocations;
      sum.bytes += of.bytes;
      sum.allocator_ns += of.allocator_ns;
      sum.live_at_end_bytes = of.live_bytes;
      sum.live_at_end_blocks = of.live_blocks;
    }
    for (std::size_t stack = 0; stack < sums.size(); ++stack) {
      EXPECT_EQ(sums[stack].allocations, facts.stacks[stack].allocations) << seed << " " << stack;
      EXPECT_EQ(sums[stack].bytes, facts.stacks[stack].bytes) << seed << " " << stack;
      EXPECT_EQ(sums[stack].allocator_ns, facts.stacks[stack].allocator_ns) << seed << " " << stack;
      EXPECT_EQ(sums[stack].live_at_end_bytes, facts.stacks[stack].live_at_end_bytes) << seed << " " << stack;
      EXPECT_EQ(sums[stack].live_at_end_blocks, facts.stacks[stack].live_at_end_blocks)
          << seed << " " << stack;
    }
    std::uint64_t allocations = 0;
    for (const auto& of : facts.latency_bins) {
      allocations += of.is_release == 0 ? of.calls : 0;
    }
    EXPECT_EQ(allocations, facts.totals.allocations) << seed;
  }
}

TEST(BinnedSums, TwoBinsBecomeOne) {
  BinnedSums sums(8);
  std::uint64_t live = 0;
  const auto held_by = [&](std::uint32_t key) { return key == 3 ? Held{live, live / 10} : Held{}; };
  for (std::uint32_t bin = 1; bin <= 4; ++bin) {
    live = bin * 10;
    sums.add({3, 0, 1, 0, 10, 5, 0, 0});
    if (bin == 4) {
      sums.add({1, 0, 2, 1, 0, 0, 0, 0});
    }
    sums.close(bin, held_by);
  }
  sums.fold();
  const auto& rows = sums.rows();
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(std::tie(rows[0].key, rows[0].bin, rows[0].allocations, rows[0].bytes, rows[0].live_bytes),
            std::tuple(3U, 1U, 2U, 20U, 20U));
  std::uint64_t allocations = 0;
  for (const auto& row : rows) {
    allocations += row.allocations;
    EXPECT_LE(row.bin, 2U);
    if (row.key == 3 && row.bin == 2) {
      EXPECT_EQ(row.live_bytes, 40U) << "the later bin's";
      EXPECT_EQ(row.live_blocks, 4U);
    }
  }
  EXPECT_EQ(allocations, 6U);
}

}  // namespace heapwright::analyze
