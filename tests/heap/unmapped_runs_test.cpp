// SPDX-License-Identifier: MIT
#include "heap/pages/unmapped_runs.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <optional>

#include "heap/base/settings.hpp"
#include "heap/base/system_pages.hpp"
#include "heap/pages/free_runs.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/service/process.hpp"
#include "held_memory.hpp"

namespace heapwright::heap {
namespace {

// Two runs with one between them that is in use; no other memory is free.
class UnmappedRuns : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(initialize_process());
    settings.has_maintenance_thread = false;
    const auto run = allocate_run(short_units + 1 + long_units);
    ASSERT_NE(run.unit, 0U);
    held_.emplace();
    short_run_ = run.unit;
    between_ = run.unit + short_units;
    long_run_ = between_ + 1;
    std::memset(memory_of(run.unit), 7, (short_units + 1 + long_units) * unit_bytes);
  }
  void TearDown() override {
    refuse_every = 0;
    EXPECT_TRUE(page_source_is_valid());
    free_run(between_, 1, true);
    held_.reset();
    EXPECT_TRUE(page_source_is_valid());
  }

  // Taken, as zeros, and free again.
  void expect_served(std::uint32_t unit, std::uint32_t units) {
    const auto run = allocate_run(units);
    EXPECT_EQ(run.unit, unit);
    if (run.unit == 0) return;
    EXPECT_TRUE(run.is_zeroed);
    EXPECT_EQ(std::memchr(memory_of(run.unit), 7, units * unit_bytes), nullptr);
    free_run(run.unit, units, false);
  }

  static constexpr std::uint32_t short_units = 3;
  static constexpr std::uint32_t long_units = 5;
  std::uint32_t short_run_ = 0;
  std::uint32_t between_ = 0;
  std::uint32_t long_run_ = 0;

 private:
  std::optional<HeldMemory> held_;
};

bool is_there(std::uint32_t unit) {
  unsigned char page = 0;
  return mincore(memory_of(unit), system_page_bytes(), &page) == 0;
}

TEST_F(UnmappedRuns, WhatIsTakenBackServesAtOnce) {
  forbid(memory_of(long_run_), unit_bytes);
  take_back(long_run_, long_units);
  refuse_every = 1;
  expect_served(long_run_, long_units);
  refuse_every = 0;
  free_run(short_run_, short_units, true);
}

TEST_F(UnmappedRuns, WhatIsRefusedCountsNowhereUntilItServes) {
  const std::size_t before = committed_bytes();
  forbid(memory_of(long_run_), unit_bytes);
  refuse_every = 1;
  take_back(long_run_, long_units);
  EXPECT_FALSE(is_there(long_run_));
  EXPECT_EQ(committed_bytes(), before - long_units * unit_bytes);
  EXPECT_EQ(allocate_run(long_units).unit, 0U);
  refuse_every = 0;
  expect_served(long_run_, long_units);
  EXPECT_EQ(committed_bytes(), before);
  free_run(short_run_, short_units, true);
}

TEST_F(UnmappedRuns, TheLongestFreeRunIsGivenUpFirst) {
  free_run(short_run_, short_units, true);
  free_run(long_run_, long_units, true);
  give_up_free_runs(long_units);
  EXPECT_TRUE(is_there(short_run_));
  EXPECT_FALSE(is_there(long_run_));
  give_up_free_runs(long_units);
  EXPECT_FALSE(is_there(short_run_));
  EXPECT_FALSE(map_again(long_units + 1));
  EXPECT_TRUE(map_again(long_units));
  EXPECT_FALSE(map_again(long_units));
  EXPECT_TRUE(map_again(short_units));
  refuse_every = 1;
  expect_served(short_run_, short_units);
  expect_served(long_run_, long_units);
}

// As a library that maps where it likes.
TEST_F(UnmappedRuns, WhatSomebodyElseHasMappedThereIsLeftAlone) {
  free_run(short_run_, short_units, true);
  free_run(long_run_, long_units, true);
  give_up_free_runs(long_units);
  void* const wanted = memory_of(long_run_);
  void* const other =
      mmap(wanted, unit_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_EQ(other, wanted);
  EXPECT_FALSE(map_again(long_units));
  EXPECT_TRUE(is_there(long_run_));
  EXPECT_FALSE(is_there(long_run_ + 1));
  EXPECT_EQ(munmap(other, unit_bytes), 0);
}

}  // namespace
}  // namespace heapwright::heap
