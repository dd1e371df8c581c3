// SPDX-License-Identifier: MIT
#include "heap/pages/short_units.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "../heap_programs/test_seed.hpp"
#include "heap/base/settings.hpp"
#include "heap/base/system_pages.hpp"
#include "heap/base/waiting.hpp"
#include "heap/pages/free_runs.hpp"
#include "heap/pages/growth.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/service/process.hpp"

namespace heapwright::heap {
namespace {

constexpr std::uint32_t some_class = 3;
constexpr std::uint32_t other_class = 7;

class ShortUnitsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (system_page_bytes() > most_short_bytes) GTEST_SKIP() << "a page is as long as a unit";
    ASSERT_TRUE(initialize_process());
    settings.has_maintenance_thread = false;
    purge();
    std::fill_n(short_units.longer, class_count, std::uint8_t{0});
  }
  void TearDown() override {
    purge();
    if (lot_.unit != lot_.end) {
      free_run(lot_.unit, lot_.end - lot_.unit, false);
      source.set_aside_units = source.set_aside_units - (lot_.end - lot_.unit);
    }
    EXPECT_TRUE(page_source_is_valid());
  }
  static void purge() {
    while (purge_oldest_run(0, 0) != 0) {
    }
  }
  heap::Run first(std::uint32_t size_class) { return allocate_first_unit(&lot_, size_class); }
  // A slab of that class used so much of it, and is closed.
  static void use(heap::Run run, std::uint32_t bytes, std::uint32_t size_class) {
    std::memset(memory_of(run.unit), 1, bytes);
    free_unit_of_slab(run, bytes, size_class);
  }
  // A dirty unit that anybody may have.
  static std::uint32_t leave_dirty() {
    const heap::Run run = allocate_run(1);
    free_run(run.unit, 1, true);
    return run.unit;
  }

 private:
  UnitLot lot_{};
};

TEST_F(ShortUnitsTest, TheNextFirstSlabHasTheUnitWithZerosAndNoneThatWasUsedToItsEnd) {
  const heap::Run run = first(some_class);
  ASSERT_TRUE(run.is_zeroed);
  leave_dirty();
  use(run, 5000, some_class);
  const heap::Run again = first(other_class);
  EXPECT_EQ(again.unit, run.unit);
  EXPECT_TRUE(again.is_zeroed);
  const char* memory = memory_of(again.unit);
  EXPECT_TRUE(std::all_of(memory, memory + unit_bytes, [](char byte) { return byte == 0; }));
  use(again, most_short_bytes + 8, other_class);
  EXPECT_NE(first(some_class).unit, run.unit) << "a clean one, though two dirty ones are free";
}

TEST_F(ShortUnitsTest, AClassWhoseSlabsUseMoreTakesDirtyUnitsUntilTheyUseLess) {
  for (int i = 0; i < 4; ++i) {
    const heap::Run run = first(some_class);
    EXPECT_TRUE(run.is_zeroed) << i;
    use(run, unit_bytes, some_class);
  }
  const heap::Run used = first(some_class);
  EXPECT_FALSE(used.is_zeroed);
  const heap::Run other = first(other_class);
  EXPECT_TRUE(other.is_zeroed) << "of another class nothing is known";
  use(used, 100, some_class);
  EXPECT_TRUE(first(some_class).is_zeroed);
  use(other, 100, other_class);
}

TEST_F(ShortUnitsTest, AUnitThatWasDirtyBeforeIsNoShortOne) {
  const heap::Run run = allocate_run(1);
  free_unit_of_slab({run.unit, false}, 100, some_class);
  EXPECT_EQ(short_units.count, 0U);
  EXPECT_EQ(dirty_bytes(), unit_bytes);
}

TEST_F(ShortUnitsTest, TheirPagesGoBackOldestFirstOnceTheyHaveWaited) {
  const heap::Run older = first(some_class);
  const heap::Run newer = first(some_class);
  use(older, 100, some_class);
  use(newer, 100, some_class);
  line_of(older.unit)->stamp = 10;
  line_of(newer.unit)->stamp = 12;
  EXPECT_TRUE(has_dirty_runs());
  EXPECT_EQ(dirty_bytes(), 0U);
  EXPECT_EQ(short_bytes(), 200U);
  EXPECT_EQ(purge_oldest_run(14, 5), 0U);
  EXPECT_EQ(short_units.count, 2U);
  EXPECT_EQ(purge_oldest_run(15, 5), 1U);
  EXPECT_EQ(short_units.count, 1U);
  EXPECT_EQ(memory_of(older.unit)[0], 0);
  EXPECT_EQ(purge_oldest_run(17, 5), 1U);
  EXPECT_FALSE(has_dirty_runs());
}

TEST_F(ShortUnitsTest, AnyOneUnitIsTakenBeforeAnUntouchedOne) {
  const heap::Run run = first(some_class);
  use(run, 100, some_class);
  const heap::Run taken = allocate_run(1);
  EXPECT_EQ(taken.unit, run.unit);
  EXPECT_FALSE(taken.is_zeroed);
  free_run(taken.unit, 1, true);
}

// Against a list that remembers.
TEST_F(ShortUnitsTest, RandomUnitsAreTakenNewestFirst) {
  const auto seed = static_cast<unsigned>(test_seed());
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::vector<heap::Run> held;
  std::vector<std::uint32_t> kept;
  for (int i = 0; i < 2000; ++i) {
    if (held.empty() || (held.size() < 40 && random() % 2 == 0)) {
      held.push_back(first(some_class));
      ASSERT_NE(held.back().unit, 0U);
      if (!kept.empty()) {
        ASSERT_EQ(held.back().unit, kept.back());
        kept.pop_back();
      }
    } else {
      std::swap(held[random() % held.size()], held.back());
      if (held.back().is_zeroed) kept.push_back(held.back().unit);
      use(held.back(), 1 + random() % most_short_bytes, some_class);
      held.pop_back();
    }
    if (random() % 50 == 0 && !kept.empty()) {
      const LockGuard locked = guard();
      EXPECT_TRUE(join_short(0, 0, 1));
      kept.erase(kept.begin());
    }
    ASSERT_TRUE(page_source_is_valid() && short_units_are_valid());
  }
  for (const heap::Run& run : held) free_run(run.unit, 1, true);
}

}  // namespace
}  // namespace heapwright::heap
