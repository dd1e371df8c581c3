// SPDX-License-Identifier: MIT
// length: one fixture for all that the page source promises
#include "heap/pages/page_source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "../heap_programs/test_seed.hpp"
#include "heap/base/settings.hpp"
#include "heap/base/system_pages.hpp"
#include "heap/pages/free_runs.hpp"
#include "heap/pages/growth.hpp"
#include "heap/service/process.hpp"
#include "held_memory.hpp"

namespace heapwright::heap {
namespace {

struct Taken {
  std::uint32_t unit;
  std::uint32_t units;
};

class PageSource : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(initialize_process());
    settings.has_maintenance_thread = false;
    held_.emplace();
  }
  void TearDown() override {
    refuse_every = 0;
    held_.reset();
    EXPECT_TRUE(page_source_is_valid());
  }

  // All that is free by now, too.
  void hold_memory() {
    held_.reset();
    held_.emplace();
  }

 private:
  std::optional<HeldMemory> held_;
};

bool is_zero(const heap::Run& run, std::uint32_t units) {
  const char* memory = memory_of(run.unit);
  for (std::size_t i = 0; i < units * unit_bytes; i += 512) {
    if (memory[i] != 0) return false;
  }
  return true;
}

TEST_F(PageSource, RandomRunsNeverOverlapAndAreZeroWhenTheySaySo) {
  const auto seed = static_cast<unsigned>(test_seed());
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::vector<Taken> taken;
  for (int i = 0; i < 20'000; ++i) {
    if (taken.size() < 50 || random() % 2 == 0) {
      const auto units = static_cast<std::uint32_t>(1 + random() % (random() % 8 == 0 ? 200 : 20));
      const auto run = allocate_run(units);
      ASSERT_NE(run.unit, 0U);
      if (run.is_zeroed) {
        ASSERT_TRUE(is_zero(run, units));
      }
      for (const Taken& other : taken) {
        ASSERT_TRUE(run.unit + units <= other.unit || other.unit + other.units <= run.unit);
      }
      memory_of(run.unit)[units * unit_bytes - 512] = 1;
      taken.push_back({run.unit, units});
    } else {
      const std::size_t at = random() % taken.size();
      free_run(taken[at].unit, taken[at].units, true);
      taken[at] = taken.back();
      taken.pop_back();
    }
    if (i % 500 == 0) {
      ASSERT_TRUE(page_source_is_valid()) << i;
      purge_oldest_run(0, 0);
    }
  }
  for (const Taken& run : taken) free_run(run.unit, run.units, true);
}

// Pages of the first half were given back, those of the second were not.
TEST_F(PageSource, HalvesThatAreCleanAndDirtyServeTogetherBeforeMemoryIsRefused) {
  constexpr std::uint32_t half = 12'000;
  const auto run = allocate_run(2 * half);
  ASSERT_NE(run.unit, 0U);
  free_run(run.unit, half, true);
  while (purge_oldest_run(0, 0)) {
  }
  free_run(run.unit + half, half, true);
  refuse_every = 1;
  const auto again = allocate_run(2 * half);
  EXPECT_NE(again.unit, 0U);
  EXPECT_FALSE(again.is_zeroed);
  EXPECT_EQ(allocate_run(2 * half).unit, 0U);
  if (again.unit != 0) free_run(again.unit, 2 * half, true);
}

// Fresh pages would cost a fault each, and leave the others waiting.
TEST_F(PageSource, ALongRunTakesUsedPagesWithCleanOnesBesideThemFirst) {
  constexpr std::uint32_t part = 300;
  const auto run = allocate_run(4 * part);
  const auto clean = allocate_run(4 * part);
  free_run(run.unit, 2 * part, true);
  while (purge_oldest_run(0, 0)) {
  }
  free_run(clean.unit, 4 * part, false);
  free_run(run.unit + 2 * part, part, true);
  const auto mixed = allocate_run(2 * part);
  EXPECT_EQ(mixed.unit, run.unit + part);
  EXPECT_FALSE(mixed.is_zeroed);
  free_run(mixed.unit, 2 * part, true);
  free_run(run.unit + 3 * part, part, true);
}

// A fork in one thread while another waits for a run that is given back.
TEST_F(PageSource, WaitingCallsOfAParentDoNotStopTheChildsPurges) {
  const auto run = allocate_run(4);
  free_run(run.unit, 4, true);
  source.awaiting = 1;
  EXPECT_FALSE(purge_oldest_run(0, 0));
  forget_waiting_calls();
  EXPECT_TRUE(purge_oldest_run(0, 0));
}

TEST_F(PageSource, FreedNeighboursJoin) {
  const auto run = allocate_run(16);
  free_run(run.unit + 4, 4, true);
  free_run(run.unit + 12, 4, true);
  free_run(run.unit + 8, 4, true);
  ASSERT_TRUE(page_source_is_valid());
  EXPECT_TRUE(extend_run(run.unit, 4, 12));
  free_run(run.unit, 16, true);
}

TEST_F(PageSource, ARunFreedLastServesTheNextRequestOfItsLengthWhole) {
  const auto run = allocate_run(25);
  free_run(run.unit, 20, true);
  free_run(run.unit + 20, 5, true);
  EXPECT_EQ(allocate_run(5).unit, run.unit + 20);
  EXPECT_EQ(allocate_run(20).unit, run.unit);
  free_run(run.unit, 25, true);
}

// Each of 16 threads adds 128 MiB at a time; the lines of a GiB are made writable at once. What one
// call looks at beside its own range may be another's that is not ready yet.
TEST_F(PageSource, ACleanRunIsTakenBesideADirtyOneOfItsLength) {
  const auto used = allocate_run(4);
  const auto between = allocate_run(1);
  const auto zeros = allocate_run(4);
  const auto behind = allocate_run(1);
  std::memset(memory_of(used.unit), 1, 4 * unit_bytes);
  EXPECT_TRUE(map_anew(memory_of(zeros.unit), 4 * unit_bytes));
  free_run(used.unit, 4, true);
  free_run(zeros.unit, 4, false);
  const auto clean = allocate_clean_run(4);
  EXPECT_TRUE(clean.is_zeroed);
  EXPECT_TRUE(is_zero(clean, 4));
  EXPECT_TRUE(page_source_is_valid());
  const auto dirty = allocate_run(4);
  EXPECT_EQ(dirty.unit, used.unit) << "it is left to who can use it as it is";
  EXPECT_FALSE(dirty.is_zeroed);
  for (const Taken run : {Taken{clean.unit, 4}, {dirty.unit, 4}, {between.unit, 1}, {behind.unit, 1}}) {
    free_run(run.unit, run.units, true);
  }
}

TEST_F(PageSource, ThreadsGrowTheRegionAtOnce) {
  constexpr std::uint32_t units = 2048;
  constexpr int rounds = 8;
  std::array<std::vector<std::uint32_t>, 16> taken;
  std::vector<std::thread> threads;
  threads.reserve(taken.size());
  for (auto& own : taken) {
    threads.emplace_back([&own] {
      for (int i = 0; i < rounds; ++i) own.push_back(allocate_run(units).unit);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& own : taken) {
    for (const std::uint32_t unit : own) {
      ASSERT_NE(unit, 0U);
      free_run(unit, units, false);
    }
  }
}

// How far the region grows for a run that no free one serves, beyond that run.
std::size_t growth_beyond(std::uint32_t units) {
  const std::size_t before = committed_bytes();
  const auto run = allocate_run(units);
  EXPECT_NE(run.unit, 0U);
  const std::size_t grown = committed_bytes() - before;
  free_run(run.unit, units, false);
  return grown - std::min<std::size_t>(grown, std::size_t{units} * unit_bytes);
}

// 500 threads that begin at once would otherwise map 128 MiB each, of which nobody uses most.
TEST_F(PageSource, WhileAThreadMapsAheadOthersMapWhatTheyNeed) {
  // From here on a step is longer than what is mapped meanwhile.
  growth_beyond(static_cast<std::uint32_t>(committed_bytes() / unit_bytes) + 1);
  hold_memory();
  source.is_growing_ahead = true;
  EXPECT_LE(growth_beyond(1), std::size_t{1} << 20U);
  const std::size_t before = committed_bytes();
  end_start();
  EXPECT_EQ(committed_bytes(), before);
  forget_waiting_calls();  // in a fork's child nobody is at it
  EXPECT_FALSE(source.is_growing_ahead);
  hold_memory();
  EXPECT_GT(growth_beyond(1), std::size_t{1} << 20U);
  EXPECT_FALSE(source.is_growing_ahead);
}

class Lots : public PageSource {
 protected:
  void SetUp() override {
    PageSource::SetUp();
    ++counters_page->heap.threads;
    const auto clean = allocate_run(clean_units);
    free_run(clean.unit, clean_units, false);
  }
  void TearDown() override {
    for (const std::uint32_t unit : taken_) free_run(unit, 1, false);
    for (const UnitLot& lot : lots_) {
      if (lot.unit == lot.end) continue;
      free_run(lot.unit, lot.end - lot.unit, false);
      source.set_aside_units = source.set_aside_units - (lot.end - lot.unit);
    }
    source.limit_bytes = 0;
    --counters_page->heap.threads;
    PageSource::TearDown();
  }
  heap::Run take(std::size_t lot) {
    const auto run = allocate_unit(&lots_[lot]);
    EXPECT_NE(run.unit, 0U);
    taken_.push_back(run.unit);
    return run;
  }

  static constexpr std::uint32_t clean_units = 4 * lot_units;
  std::array<UnitLot, 2> lots_{};

 private:
  std::vector<std::uint32_t> taken_;
};

TEST_F(Lots, UnitsOfTwoShareNoPageOfLines) {
  std::array<std::set<std::uint32_t>, 2> pages;
  for (std::size_t i = 0; i < clean_units / 2; ++i) {
    const auto run = take(i % 2);
    EXPECT_TRUE(run.is_zeroed);
    pages[i % 2].insert(run.unit / lot_units);
  }
  for (const std::uint32_t page : pages[0]) EXPECT_FALSE(pages[1].contains(page)) << page;
}

std::uint64_t units_in_use() {
  return committed_bytes() / unit_bytes - source.dirty_units - source.clean_units - source.set_aside_units;
}

TEST_F(Lots, WhatIsSetAsideIsNotInUse) {
  const std::uint64_t before = units_in_use();
  take(0);
  EXPECT_GT(source.set_aside_units, 0U);
  EXPECT_EQ(units_in_use(), before + 1);
}

TEST_F(Lots, AUnitThatWasUsedGoesBeforeTheLot) {
  const auto first = take(0);
  const auto used = take(0);
  free_run(used.unit, 1, true);
  EXPECT_EQ(allocate_unit(&lots_[0]).unit, used.unit);
  EXPECT_NE(take(0).unit, first.unit);
}

TEST_F(Lots, UnderAnAddressSpaceLimitNothingIsSetAside) {
  source.limit_bytes = std::size_t{1} << 39;
  take(0);
  EXPECT_EQ(lots_[0].unit, lots_[0].end);
}

TEST_F(Lots, WhileOneThreadAllocatesNothingIsSetAside) {
  --counters_page->heap.threads;
  take(0);
  EXPECT_EQ(lots_[0].unit, lots_[0].end);
  ++counters_page->heap.threads;
}

TEST_F(PageSource, AlignedRunsAreAligned) {
  for (std::uint32_t alignment = 1; alignment <= 1024; alignment *= 2) {
    const auto run = allocate_run(3, alignment);
    ASSERT_NE(run.unit, 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory_of(run.unit)) % (alignment * unit_bytes), 0U);
    EXPECT_TRUE(page_source_is_valid());
    free_run(run.unit, 3, true);
  }
}

TEST_F(PageSource, ARunGrowsIntoAFreeNeighbour) {
  const auto run = allocate_run(8);
  free_run(run.unit + 4, 4, true);
  EXPECT_TRUE(extend_run(run.unit, 4, 2));
  EXPECT_FALSE(extend_run(run.unit, 4, 1));  // its own
  free_run(run.unit, 6, true);
}

TEST_F(PageSource, ARunGrowsIntoADirtyAndACleanNeighbour) {
  const auto run = allocate_run(12);
  free_run(run.unit + 4, 4, true);
  free_run(run.unit + 8, 4, false);
  EXPECT_FALSE(extend_run(run.unit, 4, 4096));
  EXPECT_TRUE(extend_run(run.unit, 4, 8));
  EXPECT_TRUE(page_source_is_valid());
  free_run(run.unit, 12, true);
}

void purge_all() {
  while (purge_oldest_run(0, 0)) {
  }
}

std::size_t committed_units() { return committed_bytes() / unit_bytes; }

TEST_F(PageSource, ARunWithRoomGrowsAndItsPlaceServesTheNext) {
  const auto longest = allocate_run(8192);
  free_run(longest.unit, 8192, false);
  purge_all();
  const auto run = allocate_run_with_room(2, Growth::in_small_steps);
  const auto other = allocate_run(3);
  ASSERT_TRUE(extend_run(run.unit, 2, 6));
  free_run(run.unit, 8, true);
  ASSERT_EQ(allocate_run_with_room(2, Growth::in_small_steps).unit, run.unit);
  ASSERT_TRUE(extend_run(run.unit, 2, 14));
  EXPECT_TRUE(page_source_is_valid());
  free_run(run.unit, 16, true);
  free_run(other.unit, 3, true);
}

// Short ones, which then touch no new pages.
TEST_F(PageSource, AShortRunWithRoomTakesAnEarlierPlaceWhileTheseAreAmple) {
  const auto longest = allocate_run(8192);
  free_run(longest.unit, 8192, false);
  purge_all();
  const std::size_t count = 2 * (50 + committed_units() / 256);  // ample in a large heap, too
  std::vector<heap::Run> runs(count);
  for (heap::Run& run : runs) run = allocate_run(5);  // less than four times 2
  const auto before = allocate_run_with_room(2, Growth::in_small_steps);
  EXPECT_TRUE(before.is_zeroed);
  for (std::size_t i = 0; i < count; i += 2) free_run(runs[i].unit, 5, true);
  const auto short_run = allocate_run_with_room(2, Growth::in_small_steps);
  const auto long_run = allocate_run_with_room(16, Growth::in_small_steps);
  EXPECT_FALSE(short_run.is_zeroed);
  EXPECT_LT(short_run.unit, runs[count - 1].unit);
  EXPECT_TRUE(long_run.is_zeroed);
  EXPECT_TRUE(page_source_is_valid());
  free_run(before.unit, 2, true);
  free_run(short_run.unit, 2, true);
  free_run(long_run.unit, 16, true);
  for (std::size_t i = 1; i < count; i += 2) free_run(runs[i].unit, 5, true);
}

TEST_F(PageSource, TheGapBehindAHardenedGrowthIsNoMemory) {
  settings.is_hardened = true;
  const std::size_t before = committed_bytes();
  const auto run = allocate_run(40);
  settings.is_hardened = false;
  EXPECT_EQ(committed_bytes() - before, 40 * unit_bytes);
  free_run(run.unit, 40, false);
}

TEST_F(PageSource, WhatIsFreeBelowTheFrontierJoinsTheNextGrowth) {
  const auto last = allocate_run(8192);
  free_run(last.unit, 8192, false);
  const auto longer = allocate_run(3 * 8192);
  EXPECT_LE(longer.unit, last.unit);
  EXPECT_TRUE(page_source_is_valid());
  free_run(longer.unit, 3 * 8192, false);
}

// The longer place stays whole for a block that needs it.
TEST_F(PageSource, ABlockThatGrowsByHalfTakesTheShortestPlaceWhileTheseAreAmple) {
  purge_all();
  const std::size_t count = 4 * (50 + committed_units() / 512);
  std::vector<heap::Run> runs(count);
  for (std::size_t i = 0; i < count; ++i) runs[i] = allocate_run(i % 4 == 0 ? 3 : i % 4 == 2 ? 9 : 1);
  for (std::size_t i = 0; i < count; i += 2) free_run(runs[i].unit, i % 4 == 0 ? 3 : 9, true);
  const auto is_in_place = [&](std::uint32_t unit, std::size_t first) {
    for (std::size_t i = first; i < count; i += 4) {
      if (runs[i].unit == unit) return true;
    }
    return false;
  };
  const auto stepping = allocate_run_with_room(2, Growth::in_small_steps);
  const auto doubling = allocate_run_with_room(2, Growth::by_half_or_more);
  const auto longer = allocate_run_with_room(8, Growth::by_half_or_more);
  EXPECT_TRUE(is_in_place(stepping.unit, 2)) << "room of four times its length";
  EXPECT_TRUE(is_in_place(doubling.unit, 0));
  EXPECT_TRUE(is_in_place(longer.unit, 2));
  EXPECT_TRUE(page_source_is_valid());
  free_run(stepping.unit, 2, true);
  free_run(doubling.unit, 2, true);
  free_run(longer.unit, 8, true);
  for (std::size_t i = 1; i < count; i += 2) free_run(runs[i].unit, 1, true);
}

TEST_F(PageSource, ALargeShareOfDirtyRunsIsASurplusThatGoesInPieces) {
  purge_all();
  EXPECT_FALSE(has_surplus());
  const auto units = static_cast<std::uint32_t>(committed_units() / surplus_share + 100);
  const auto run = allocate_run(units);
  ASSERT_NE(run.unit, 0U);
  EXPECT_FALSE(has_surplus());
  free_run(run.unit, units, true);
  EXPECT_TRUE(has_surplus());
  EXPECT_EQ(dirty_bytes(), units * unit_bytes);
  EXPECT_TRUE(purge_oldest_run(0, 0, 8));
  EXPECT_EQ(dirty_bytes(), (units - 8) * unit_bytes);
  purge_all();
  EXPECT_FALSE(has_surplus());
}

// Pieces are taken from a run's end, and what is left has waited as long as the run: it goes on before a
// younger one.
TEST_F(PageSource, ARunGoesBackWholeBeforeTheNextBegins) {
  purge_all();
  const auto first = allocate_run(8);
  const auto between = allocate_run(1);
  const auto second = allocate_run(8);
  const auto behind = allocate_run(1);
  free_run(first.unit, 8, true);
  free_run(second.unit, 8, true);
  for (int piece = 0; piece < 3; ++piece) EXPECT_TRUE(purge_oldest_run(0, 0, 2));
  EXPECT_EQ(line_of(first.unit)->units, 2U);
  EXPECT_TRUE(is_dirty_run(line_of(first.unit)));
  EXPECT_EQ(line_of(first.unit + 2)->units, 6U) << "one clean run";
  EXPECT_EQ(line_of(second.unit)->units, 8U) << "untouched";
  EXPECT_TRUE(is_dirty_run(line_of(second.unit)));
  EXPECT_TRUE(page_source_is_valid());
  free_run(between.unit, 1, true);
  free_run(behind.unit, 1, true);
}

TEST_F(PageSource, PurgedRunsAreZeroAndNoLongerDirty) {
  const auto run = allocate_run(5);
  std::memset(memory_of(run.unit), 1, 5 * unit_bytes);
  free_run(run.unit, 5, true);
  EXPECT_GE(dirty_bytes(), 5 * unit_bytes);
  purge_all();
  EXPECT_EQ(dirty_bytes(), 0U);
  EXPECT_EQ(memory_of(run.unit)[100], 0);
}

// Whichever request the system refuses, the caller gets "no memory" and the
// source stays whole.
TEST_F(PageSource, EveryKthRequestRefused) {
  for (std::uint32_t every = 1; every <= 12; ++every) {
    refuse_every = every;
    std::vector<Taken> taken;
    int refused = 0;
    for (int i = 0; i < 100; ++i) {
      const std::uint32_t units = 700;
      const auto run = allocate_run(units);
      if (run.unit == 0) {
        ++refused;
        continue;
      }
      memory_of(run.unit)[0] = 1;
      memory_of(run.unit + units - 1)[unit_bytes - 1] = 1;
      taken.push_back({run.unit, units});
    }
    refuse_every = 0;
    if (every == 1) {
      EXPECT_GT(refused, 0);  // what is not refused was there already
    }
    ASSERT_TRUE(page_source_is_valid()) << every;
    for (const Taken& run : taken) free_run(run.unit, run.units, true);
    ASSERT_TRUE(page_source_is_valid()) << every;
    if (every == 1) {
      EXPECT_NE(allocate_run(3).unit, 0U);
    }
  }
}

}  // namespace
}  // namespace heapwright::heap
