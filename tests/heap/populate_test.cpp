// SPDX-License-Identifier: MIT
#include "heap/populate.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <optional>
#include <vector>

#include "heap/counting.hpp"
#include "heap/page_source.hpp"
#include "heap/process.hpp"
#include "heap/settings.hpp"
#include "heap/system_pages.hpp"
#include "held_memory.hpp"

namespace heapwright::heap {
namespace {

constexpr std::uint32_t used_units = 8192;      // never touched, so it costs address space only
constexpr std::uint32_t populated_units = 128;  // a sixty-fourth of that, at least
constexpr std::uint32_t tail_units = 1024;      // more than anything here needs
constexpr std::uint32_t growth = 16;

class Populate : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(initialize_process());
    if (memory_node_count() != 1) GTEST_SKIP() << "memory of several nodes is not populated ahead";
    settings.has_maintenance_thread = false;
    held_.emplace();
    used_ = allocate_run(used_units);
    ASSERT_NE(used_.unit, 0U);
    const heap::Run tail = allocate_run(tail_units);
    ASSERT_TRUE(tail.is_zeroed);
    free_run(tail.unit, tail_units, false);
    populate_ahead(UINT32_MAX);  // a look at where it begins
    now_ = current_tick();
    if (!populate_pages(memory_of(used_.unit), unit_bytes)) GTEST_SKIP() << "before Linux 5.14";
  }
  void TearDown() override {
    refuse_every = 0;
    drop_populated(static_cast<std::uint16_t>(now_ + 1), 1);
    if (used_.unit != 0) free_run(used_.unit, used_units, false);
    held_.reset();
    EXPECT_TRUE(page_source_is_valid());
  }

  std::uint16_t now_ = 0;

 private:
  std::optional<HeldMemory> held_;
  heap::Run used_{0, false};
};

std::size_t resident_units(std::uint32_t unit, std::uint32_t units) {
  const std::size_t bytes = units * unit_bytes;
  std::vector<unsigned char> pages(bytes / system_page_bytes());
  EXPECT_EQ(mincore(memory_of(unit), bytes, pages.data()), 0);
  std::size_t resident = 0;
  for (const unsigned char page : pages) resident += page & 1;
  return resident * system_page_bytes() / unit_bytes;
}

// From the front of the clean tail, as slabs of small blocks.
heap::Run grow_by(std::uint32_t units) {
  const std::uint32_t tail = free_tail().unit;
  heap::Run first{tail, true};
  for (std::uint32_t i = 0; i < units; ++i) {
    UnitLot lot{};
    const auto run = allocate_unit(&lot);
    EXPECT_EQ(run.unit, tail + i);
    first.is_zeroed &= run.is_zeroed;
  }
  return first;
}

TEST_F(Populate, AHeapThatGrowsFastFindsZeroedPagesThatAreResident) {
  const auto run = grow_by(growth);
  const std::uint64_t calls = counters_page->page.populating.calls;
  EXPECT_TRUE(populate_ahead(growth));
  EXPECT_GE(counters_page->page.populating.calls, calls + populated_units);
  EXPECT_EQ(resident_units(run.unit, growth), 0U);
  const auto next = grow_by(populated_units);
  EXPECT_EQ(resident_units(next.unit, populated_units), populated_units);
  EXPECT_TRUE(next.is_zeroed);
  for (std::size_t i = 0; i < populated_units * unit_bytes; i += 64) {
    ASSERT_EQ(memory_of(next.unit)[i], 0);
  }
  free_run(next.unit, populated_units, true);
  free_run(run.unit, growth, false);
}

TEST_F(Populate, SlowGrowthIsLeftAlone) {
  const auto run = grow_by(growth - 1);
  EXPECT_FALSE(populate_ahead(growth));
  EXPECT_EQ(resident_units(free_tail().unit, populated_units), 0U);
  EXPECT_FALSE(populate_ahead(1)) << "the look before has seen it";
  free_run(run.unit, growth - 1, false);
}

TEST_F(Populate, GrowthByLongerRunsIsLeftAlone) {
  const auto run = grow_by(growth);
  const auto longer = allocate_run(growth);
  EXPECT_FALSE(populate_ahead(growth));
  EXPECT_EQ(resident_units(free_tail().unit, populated_units), 0U);
  free_run(longer.unit, growth, false);
  free_run(run.unit, growth, false);
}

TEST_F(Populate, WhatIsPopulatedAlreadyIsNotPopulatedAgain) {
  const auto first = grow_by(growth);
  EXPECT_TRUE(populate_ahead(growth));
  const std::uint64_t calls = counters_page->page.populating.calls;
  const auto second = grow_by(growth);
  EXPECT_TRUE(populate_ahead(growth));
  EXPECT_LE(counters_page->page.populating.calls, calls + growth + 1);
  free_run(second.unit, growth, true);
  free_run(first.unit, growth, false);
}

TEST_F(Populate, OnlyWhatWasNotTakenGoesBackAfterTheGrowth) {
  const auto run = grow_by(growth);
  EXPECT_TRUE(populate_ahead(growth));
  const auto taken = grow_by(8);
  std::memset(memory_of(taken.unit), 7, 8 * unit_bytes);
  drop_populated(now_, 1);
  EXPECT_NE(resident_units(taken.unit + 8, 8), 0U) << "not old enough";
  drop_populated(static_cast<std::uint16_t>(now_ + 1), 1);
  EXPECT_EQ(resident_units(taken.unit + 8, populated_units), 0U);
  EXPECT_EQ(memory_of(taken.unit)[0], 7);
  EXPECT_EQ(memory_of(taken.unit)[8 * unit_bytes - 1], 7);
  EXPECT_TRUE(page_source_is_valid());
  free_run(taken.unit, 8, true);
  free_run(run.unit, growth, false);
}

TEST_F(Populate, AKernelThatRefusesIsAskedOnceALook) {
  const auto run = grow_by(growth);
  refuse_every = 1;
  const std::uint64_t calls = counters_page->page.populating.calls;
  EXPECT_TRUE(populate_ahead(growth));
  EXPECT_EQ(counters_page->page.populating.calls, calls);
  refuse_every = 0;
  EXPECT_EQ(resident_units(free_tail().unit, populated_units), 0U);
  free_run(run.unit, growth, false);
}

}  // namespace
}  // namespace heapwright::heap
