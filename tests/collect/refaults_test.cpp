// SPDX-License-Identifier: MIT
#include "collect/refaults.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace heapwright::collect {
namespace {

constexpr std::uint64_t page_bytes = 4096;

TEST(FaultedPages, IsASetOfPages) {
  FaultedPages pages;
  std::set<std::uint64_t> expected;
  std::mt19937_64 random(7);
  for (int i = 0; i < 200'000; ++i) {
    // In three places that are far apart, on both sides of a leaf's border.
    const std::uint64_t page = random() % 3 * 0x7'0000'0000 + 32'768 - 5'000 + random() % 10'000;
    ASSERT_EQ(pages.add(page), !expected.insert(page).second) << i;
  }
}

TEST(FaultedPages, OfMoreThanFitNothingIsSaid) {
  FaultedPages pages;
  constexpr std::uint64_t apart = 32'768;
  for (std::uint64_t i = 0; i < 16'384; ++i) EXPECT_FALSE(pages.add(i * apart));
  for (int twice = 0; twice < 2; ++twice) EXPECT_FALSE(pages.add(20'000 * apart));
  EXPECT_TRUE(pages.add(9 * apart));
}

// Touches pages [first, first + count), each in 200 ns.
void touch(Refaults& faults, Refaults::Open& thread, std::uint64_t first, std::uint64_t count,
           std::uint64_t& now_ns) {
  for (std::uint64_t page = first; page < first + count; ++page) {
    faults.begin(thread, page * page_bytes + page % page_bytes, now_ns += 300);
    faults.end(thread, 200);
  }
}

TEST(Refaults, ConsecutivePagesOfOneThreadAreARun) {
  Refaults faults;
  Refaults::Open one;
  Refaults::Open other;
  std::uint64_t now_ns = 1000;
  touch(faults, one, 100, 50, now_ns);
  faults.close(one);
  EXPECT_TRUE(faults.take().empty()) << "the first time";
  for (std::uint64_t page = 0; page < 20; ++page) {
    touch(faults, one, 100 + page, 1, now_ns);
    touch(faults, other, 130 + page, 1, now_ns);
  }
  const std::uint64_t last_ns = now_ns;
  touch(faults, one, 100, 1, now_ns);  // not the next page
  faults.close(other);
  faults.close(one);
  const auto runs = faults.take();
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].page, 100U);
  EXPECT_EQ(runs[0].pages, 20U);
  EXPECT_EQ(runs[0].fault_ns, 20U * 200);
  EXPECT_EQ(runs[0].weight, 1U);
  EXPECT_EQ(runs[1].page, 130U);
  EXPECT_EQ(runs[1].time_ns, last_ns);
  EXPECT_EQ(runs[2].pages, 1U);
  trace::ProcessorSample sample;
  faults.add_to(sample);
  EXPECT_EQ(sample.seen_faults, 91U);
  EXPECT_EQ(sample.seen_fault_ns, 91U * 200);
  EXPECT_EQ(sample.refaults, 41U);
  EXPECT_EQ(sample.refault_ns, 41U * 200);
}

TEST(Refaults, ALaterFaultBeginsARun) {
  Refaults faults;
  Refaults::Open thread;
  std::uint64_t now_ns = 1000;
  touch(faults, thread, 0, 9, now_ns);
  touch(faults, thread, 0, 3, now_ns);
  now_ns += 5'000'000;
  touch(faults, thread, 3, 4, now_ns);
  faults.close(thread);
  const auto runs = faults.take();
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].pages, 3U);
  EXPECT_EQ(runs[1].pages, 4U);
}

TEST(Refaults, OfVeryManyRunsSomeStandForAll) {
  Refaults faults;
  Refaults::Open thread;
  std::uint64_t now_ns = 1000;
  constexpr std::uint64_t all = 4'000'000;
  touch(faults, thread, 7, 1, now_ns);
  for (std::uint64_t i = 0; i < all; ++i) touch(faults, thread, 7, 1, now_ns);
  faults.close(thread);
  const auto runs = faults.take();
  EXPECT_LT(runs.size(), std::size_t{1} << 19U);
  std::uint64_t stand_for = 0;
  for (const auto& run : runs) stand_for += run.weight;
  EXPECT_NEAR(static_cast<double>(stand_for), static_cast<double>(all), all / 100.0);
}

}  // namespace
}  // namespace heapwright::collect
