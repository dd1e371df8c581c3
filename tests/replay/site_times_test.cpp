// SPDX-License-Identifier: MIT
#include "replay/site_times.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <tuple>

#include "replay/call_times.hpp"

namespace heapwright::replay {
namespace {

TEST(SiteTimes, AreThoseOfAHistogramForEachGroup) {
  std::mt19937_64 random(7);
  SiteTimes times({5, 900, 5, 70'000, SiteTimes::left_out});
  std::map<std::tuple<std::uint32_t, std::uint8_t, std::uint64_t>, CallTimes> expected;
  constexpr std::uint32_t sites[] = {5, 900, 5, 70'000};
  for (int i = 0; i < 200'000; ++i) {
    const auto stack = static_cast<std::uint32_t>(random() % 5);
    const auto kind = static_cast<std::uint8_t>(1 + random() % 3);
    const std::uint64_t largest_bytes = std::uint64_t{1} << (random() % 45);
    const auto ticks = static_cast<std::uint64_t>(std::exp2(static_cast<double>(random() % 20'000) / 1000));
    times.add(stack, kind, largest_bytes, ticks);
    if (stack < 4) expected[{sites[stack], kind, largest_bytes}].add(ticks);
  }
  const auto found = times.groups(1);
  ASSERT_EQ(found.size(), expected.size());
  auto at = expected.begin();
  for (const auto& group : found) {
    EXPECT_EQ(std::tuple(group.site, group.kind, group.largest_bytes), at->first);
    EXPECT_EQ(group.calls, at->second.calls());
    EXPECT_EQ(group.p50_ticks, at->second.at(0.5));
    EXPECT_EQ(group.p99_ticks, at->second.at(0.99));
    EXPECT_EQ(group.p999_ticks, at->second.at(0.999));
    ++at;
  }
}

TEST(SiteTimes, GroupsOfFewCallsAreLeftOut) {
  SiteTimes times({3});
  for (int i = 0; i < 20; ++i) times.add(0, 1, 64, 10);
  for (int i = 0; i < 19; ++i) times.add(0, 2, 64, 10);
  const auto found = times.groups(20);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, 1u);
  EXPECT_EQ(times.groups(19).size(), 2u);
}

}  // namespace
}  // namespace heapwright::replay
