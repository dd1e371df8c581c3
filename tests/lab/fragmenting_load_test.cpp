// SPDX-License-Identifier: MIT
#include "lab/fragmenting_load.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace heapwright::lab {
namespace {

constexpr std::uint64_t load_class_bytes = 100'000;

TEST(FragmentingLoad, AboutHalfOfTheSlotsAreLiveAfterAWhile) {
  FragmentingLoad load(load_class_bytes, 1);
  Random random(2);
  load.run(100'000, random);
  std::uint64_t all_bytes = 0;
  for (const std::uint32_t size : fragmenting_sizes) {
    all_bytes += size * std::max<std::uint64_t>(1, load_class_bytes / size);
  }
  // The two largest blocks alone are two thirds of the bytes.
  EXPECT_GT(load.requested_bytes(), 0u);
  EXPECT_LE(load.requested_bytes(), all_bytes);
  load.free_all();
  EXPECT_EQ(load.requested_bytes(), 0u);
}

TEST(FragmentingLoad, SameSeedSameLiveBytes) {
  const auto live = [](std::uint64_t seed) {
    FragmentingLoad load(load_class_bytes, seed);
    Random random(seed);
    load.run(12'345, random);
    const std::uint64_t bytes = load.requested_bytes();
    load.free_all();
    return bytes;
  };
  EXPECT_EQ(live(1), live(1));
  EXPECT_NE(live(1), live(2));
}

TEST(FragmentingLoad, AnEvenNumberOfVisitsFreesASlot) {
  FragmentingLoad load(1, 1);  // nine slots, one of each size
  ASSERT_EQ(load.slot_count(), fragmenting_sizes.size());
  Random random(3);
  Random visits(3);
  std::vector<int> count(load.slot_count());
  for (int i = 0; i < 501; ++i) ++count[visits.below(count.size())];
  load.run(501, random);
  const auto odd =
      static_cast<std::size_t>(std::count_if(count.begin(), count.end(), [](int n) { return n % 2; }));
  EXPECT_EQ(load.live_count(), odd);
  load.free_all();
}

TEST(FragmentingLoad, ThreadsShareSlotsWithoutLosingABlock) {
  FragmentingLoad load(load_class_bytes, 1);
  const auto work = [&](std::uint64_t seed) {
    Random random(seed);
    load.run_shared(200'000, random);
  };
  std::thread first(work, 1);
  std::thread second(work, 2);
  first.join();
  second.join();
  EXPECT_LE(load.live_count(), load.slot_count());
  load.free_all();
  EXPECT_EQ(load.live_count(), 0u);
}

}  // namespace
}  // namespace heapwright::lab
