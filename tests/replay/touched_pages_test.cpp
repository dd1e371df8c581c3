// SPDX-License-Identifier: MIT
#include "replay/touched_pages.hpp"

#include <initializer_list>

#include "replay/heap_calls.hpp"
#include "replay/needed_memory.hpp"
#include "replay/plan_of.hpp"
#include "replay/report_reading.hpp"

namespace heapwright::replay {
namespace {

// A scan of everything: these pages, from `begin` on, were in memory.
void scan(order::MemoryTrace& trace, std::uint64_t begin_ns, std::uint64_t begin, std::uint64_t pages) {
  order::MemoryTrace::Scan made;
  made.chunk.begin_ns = begin_ns;
  made.chunk.end_ns = begin_ns + 100;
  if (pages > 0) made.scan.runs.push_back({begin, begin + pages * page, trace::PageKind::anonymous, false});
  made.scan.windows.push_back({0, std::uint64_t{1} << 40U, begin_ns, begin_ns + 100, 0,
                               static_cast<std::uint32_t>(made.scan.runs.size())});
  trace.scan_records.push_back(made);
}

std::uint64_t touched_pages(const Operation& operation) {
  return (touched_bytes(operation) + page - 1) / page;
}

TEST(TouchedPages, AreThePagesThatTheScansFound) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 1'000, 0x100000, 1024 * page);
  trace.malloc(0, 2'000, 0x900000, 1024 * page);
  scan(trace, 10'000, 0x100000, 100);
  scan(trace, 20'000, 0x100000, 254);
  trace.free(0, 30'000, 0x100000);
  const PlanOf plan(trace);
  const auto operations = plan.operations(0);
  EXPECT_NEAR(static_cast<double>(touched_pages(operations[0])), 254, 5);
  EXPECT_EQ(operations[1].touch, 0);
  EXPECT_EQ(plan.header().large_blocks, 2u);
  EXPECT_EQ(plan.header().seen_blocks, 2u);
}

TEST(TouchedPages, AFewOfAHugeBlockAreAFew) {
  constexpr std::uint64_t huge_bytes = std::uint64_t{20} << 30U;
  auto trace = trace_of_threads(1);
  trace.malloc(0, 1'000, 0x100000, huge_bytes);
  scan(trace, 10'000, 0x100000, 2);
  const PlanOf plan(trace);
  const auto pages = touched_pages(plan.operations(0)[0]);
  EXPECT_GE(pages, 2u);
  EXPECT_LE(pages, 3u);
}

TEST(TouchedPages, RiseWithTheShareThatSaysHowMany) {
  for (const std::uint64_t size : {std::uint64_t{16384}, std::uint64_t{1} << 30U}) {
    for (unsigned touch = 1; touch <= touch_all; ++touch) {
      const auto now = touched_bytes(size, static_cast<std::uint8_t>(touch));
      const auto before = touched_bytes(size, static_cast<std::uint8_t>(touch - 1));
      EXPECT_GE(now, before) << touch;
      EXPECT_LE(static_cast<double>(now - before), static_cast<double>(size) / 150) << touch;
    }
  }
}

TEST(TouchedPages, WhatNoScanSawIsAsItsCallStackWasBefore) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 1'000, 0x100000, 1000 * page, 1);
  scan(trace, 10'000, 0x100000, 500);
  trace.malloc(0, 30'000, 0x900000, 100 * page, 1);
  trace.malloc(0, 40'000, 0xa00000, 100 * page, 2);
  const PlanOf plan(trace);
  const auto operations = plan.operations(0);
  EXPECT_EQ(touched_pages(operations[1]), 50u);
  EXPECT_EQ(operations[2].touch, touch_all);
  EXPECT_EQ(plan.header().seen_blocks, 1u);
}

TEST(TouchedPages, SumUpToWhatAReplayNeeds) {
  auto trace = trace_of_threads(2);
  trace.malloc(0, 1'000, 0x100000, 1000 * page, 1);
  trace.malloc(1, 2'000, 0x900000, 100 * page, 2);
  scan(trace, 12'000, 0x100000, 500);
  trace.free(1, 20'000, 0x100000);
  trace.malloc(0, 30'000, 0x100000, 1000 * page, 1);
  trace.realloc(0, 40'000, 0x900000, 0xa00000, 300 * page);
  const PlanOf plan(trace);
  const PlanFile file(plan.path());
  EXPECT_EQ(plan.header().peak_live_bytes, 1300 * page);
  EXPECT_NEAR(static_cast<double>(needed_memory(file).peak_bytes) / page, 650, 20)
      << "half of 1000, and of 300 as of others of that stack";
}

TEST(TouchedPages, AreWhatIsNeededAtTheMarks) {
  auto trace = trace_of_threads(2);
  read_memory_at(trace, 500);
  trace.malloc(0, 1'000, 0x100000, 1000 * page, 1);
  trace.malloc(1, 2'000, 0x900000, 40);
  scan(trace, 12'000, 0x100000, 500);
  read_memory_at(trace, 15'000);
  trace.free(1, 20'000, 0x100000);
  read_memory_at(trace, 25'000);
  trace.realloc(0, 30'000, 0x900000, 0xa00000, 70);
  read_memory_at(trace, 35'000);
  const PlanOf plan(trace);
  const auto bytes = needed_memory(PlanFile(plan.path())).mark_bytes;
  ASSERT_EQ(bytes.size(), 4u);
  EXPECT_EQ(bytes[0], 0u);
  EXPECT_NEAR(static_cast<double>(bytes[1]), 500 * page, 4 * page);
  EXPECT_EQ(bytes[2], 40u);
  EXPECT_EQ(bytes[3], 70u);
}

TEST(TouchedPages, WhatAReallocGaveBackWasNotTouched) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 1'000, 0x100000, 1000 * page);
  trace.realloc(0, 2'000, 0x100000, 0x100000, 250 * page);
  const PlanOf plan(trace);
  const auto operations = plan.operations(0);
  EXPECT_NEAR(static_cast<double>(touched_pages(operations[0])), 250, 6);
  EXPECT_EQ(operations[1].touch, touch_all);
}

TEST(TouchedPages, WhatWasJoinedIsTouchedAsItsLastBlock) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 1'000, 0x100000, 40 * page, 2);
  trace.malloc(0, 2'000, 0x900000, 1000 * page, 2);
  trace.free(0, 3'000, 0x100000);
  scan(trace, 17'000, 0x900000, 500);
  trace.free(0, 30'000, 0x900000);
  const PlanOf plan(trace, {{{Change::reserve, 0}}, {0, 0, 1}, {}});
  const auto operations = plan.operations(0);
  EXPECT_EQ(operations[0].size, 1000 * page);
  EXPECT_EQ(touched_pages(operations[0]), 500u);
}

TEST(TouchedPages, WhatIsSeenEarlyInAShortLifeMayHaveBeenOnTheWayToMore) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 1'000, 0x100000, 1000 * page, 1);
  scan(trace, 10'000, 0x100000, 500);
  trace.free(0, 30'000, 0x100000);
  trace.malloc(0, 41'000, 0x900000, 1000 * page, 2);
  scan(trace, 200'000'000, 0x900000, 500);
  trace.free(0, 900'000'000, 0x900000);
  const PlanOf plan(trace);
  const auto operations = plan.operations(0);
  EXPECT_EQ(operations[0].touch, touch_all);
  EXPECT_EQ(touched_pages(operations[2]), 500u) << "a long life";
  EXPECT_EQ(plan.header().seen_blocks, 1u);
}

TEST(TouchedPages, ABlockMadeDuringTheScanIsNotKnown) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 10'050, 0x100000, 1000 * page);
  scan(trace, 10'000, 0x100000, 0);
  trace.free(0, 30'000, 0x100000);
  const PlanOf plan(trace);
  EXPECT_EQ(plan.operations(0)[0].touch, touch_all);
  EXPECT_EQ(plan.header().seen_blocks, 0u);
}

TEST(TouchedPages, AnOperationThatIsInTheFileAlreadyIsChangedThere) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 1'000, 0x100000, 1000 * page);
  for (std::uint64_t i = 0; i < 100'000; ++i) trace.malloc(0, 2'000 + i * 16, 0x10000000 + i * 64, 24);
  scan(trace, 5'000'000, 0x100000, 0);
  const PlanOf plan(trace);
  const auto operations = plan.operations(0);
  EXPECT_EQ(operations[0].touch, 0);
  EXPECT_EQ(operations[0].size, 1000 * page);
  EXPECT_EQ(operations.size(), 100'001u);
}

order::MemoryTrace read_at(std::initializer_list<std::uint64_t> times_ns) {
  auto trace = trace_of_threads(1);
  for (const auto time_ns : times_ns) read_memory_at(trace, time_ns);
  return trace;
}

TEST(TouchedPages, WhatNoScanSawMayBeWrongAtTheMomentsOfReadings) {
  auto trace = read_at({500, 40'000, 90'000});
  trace.malloc(0, 1'000, 0x100000, 254 * page, 1);
  trace.malloc(0, 2'000, 0x900000, 100 * page, 2);
  scan(trace, 10'000, 0x100000, 127);
  trace.free(0, 20'000, 0x900000);                   // before the next reading
  trace.malloc(0, 30'000, 0x900000, 254 * page, 1);  // as half of the first one was
  trace.malloc(0, 31'000, 0xb00000, 50 * page, 3);
  trace.malloc(0, 32'000, 0xf000, 3000, 3);
  trace.free(0, 60'000, 0x900000);
  trace.malloc(0, 70'000, 0xd00000, 70 * page, 4);
  const PlanOf plan(trace);
  EXPECT_EQ(plan.header().guessed_touched_bytes, (127 + 50) * page);
  EXPECT_EQ(plan.header().guessed_untouched_bytes, 127 * page);
  EXPECT_EQ(plan.header().small_bytes, 3000u);
}

TEST(TouchedPages, WhatLivesOnMayBeWrongAtTheEnd) {
  auto trace = read_at({500, 40'000, 90'000});
  trace.malloc(0, 1'000, 0xb00000, 50 * page, 3);
  trace.malloc(0, 50'000, 0xd00000, 70 * page, 4);
  const PlanOf plan(trace);
  EXPECT_EQ(plan.header().guessed_touched_bytes, 120 * page);
}

TEST(TouchedPages, WhatIsSeenLaterIsKnown) {
  auto trace = read_at({500, 40'000, 90'000});
  trace.malloc(0, 30'000, 0x900000, 100 * page, 1);
  scan(trace, 50'000, 0x900000, 10);
  const PlanOf plan(trace);
  EXPECT_EQ(plan.header().guessed_touched_bytes, 0u);
  EXPECT_EQ(plan.header().guessed_untouched_bytes, 0u);
}

TEST(TouchedPages, WhatNoScanSawIsAsItsCallStackWasLater) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 1'000, 0x100000, 100 * page, 1);
  trace.free(0, 200'000, 0x100000);
  trace.malloc(0, 300'000, 0x900000, 1000 * page, 1);
  scan(trace, 400'000, 0x900000, 500);
  const PlanOf plan(trace);
  EXPECT_EQ(touched_pages(plan.operations(0)[0]), 50u);
}

// As a buffer that realloc grows by a page: each of its blocks lives for a moment only.
TEST(TouchedPages, WhatReallocGrewWasWrittenSinceItsFirstBlock) {
  auto trace = read_at({500});
  trace.malloc(0, 1'000, 0x100000, 1000 * page, 1);
  trace.realloc(0, 900'000, 0x100000, 0x900000, 1001 * page, 1);
  trace.free(0, 900'100, 0x900000);
  EXPECT_EQ(PlanOf(trace).operations(0)[2].touch, touch_all) << "behind a mark and the first block";
  const PlanOf plan(trace, {{{Change::reserve, 0}}, {0, 1}, {}});
  EXPECT_EQ(plan.operations(0)[1].size, 1001 * page);
  EXPECT_EQ(plan.operations(0)[1].touch, touch_all);
}

TEST(TouchedPages, AreNoMoreThanTheProcessHadAtTheLastReading) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 1'000, 0x100000, 50'000 * page, 1);
  read_memory_at(trace, 400'000, 70 * page);
  read_memory_at(trace, 500'000, 72 * page);
  trace.free(0, 501'000, 0x100000);
  const PlanOf plan(trace);
  const auto pages = touched_pages(plan.operations(0)[0]);
  EXPECT_GE(pages, 72u + 10);
  EXPECT_LE(pages, 1000u) << "a share has its steps";
}

TEST(TouchedPages, AreNoMoreThanThereWasTimeFor) {
  auto trace = read_at({500});
  trace.malloc(0, 1'000, 0x100000, 50'000 * page, 1);
  trace.free(0, 76'000, 0x100000);
  const PlanOf plan(trace);
  const auto pages = touched_pages(plan.operations(0)[1]);
  EXPECT_GE(pages, 750u);
  EXPECT_LE(pages, 1500u);
}

// calloc has written to all of it before it returns, unless it is mapped apart.
TEST(TouchedPages, OfAClearedBlockNeedNoTime) {
  const auto touch_at = [](std::uint64_t address) {
    auto trace = read_at({500});
    trace.add(0, {trace::EventKind::calloc_, 1'000, 500, 50'000 * page, 50'000 * page, address, 0, 1, 0, {}});
    trace.free(0, 3'000, address);
    return PlanOf(trace).operations(0)[1].touch;
  };
  EXPECT_EQ(touch_at(0x100020), touch_all);
  EXPECT_LT(touched_pages(Operation{.size = 50'000 * page, .touch = touch_at(0x100010)}), 1000u);
}

TEST(TouchedPages, OfABlockThatWasSeenAreWhatWasSeen) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 1'000, 0x100000, 1000 * page, 1);
  scan(trace, 2'000, 0x100000, 400);
  trace.free(0, 2'800, 0x100000);
  EXPECT_NEAR(static_cast<double>(touched_pages(PlanOf(trace).operations(0)[0])), 400, 5);
}

}  // namespace
}  // namespace heapwright::replay
