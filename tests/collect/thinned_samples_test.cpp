// SPDX-License-Identifier: MIT
#include "collect/thinned_samples.hpp"

#include <gtest/gtest.h>

namespace heapwright::collect {
namespace {

TEST(ThinnedSamples, FewStayAsTheyAre) {
  const std::vector<trace::MemorySample> few{{.time_ns = 5}, {.time_ns = 6}, {.time_ns = 1000}};
  EXPECT_EQ(thinned(few, 3).size(), 3U);
  EXPECT_TRUE(thinned({}, 3).empty());
}

TEST(ThinnedSamples, OfEachPartOfTheTimeTheOneWithMostMemoryStays) {
  std::vector<trace::MemorySample> samples;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    samples.push_back(
        {.time_ns = 7 + i * 100, .resident_anonymous_bytes = i % 100, .resident_file_bytes = 3});
  }
  samples[423].resident_shared_bytes = 5000;
  const std::vector<trace::MemorySample> kept = thinned(samples, 10);
  ASSERT_EQ(kept.size(), 10U);
  for (std::size_t part = 0; part < kept.size(); ++part) {
    EXPECT_EQ(kept[part].time_ns, 7 + (part == 4 ? 423 : part * 100 + 99) * 100) << part;
  }
}

TEST(ThinnedSamples, OnesOfOneMomentAreNoTrouble) {
  const std::vector<trace::MemorySample> samples(100, {.time_ns = 9});
  EXPECT_EQ(thinned(samples, 10).size(), 1U);
}

}  // namespace
}  // namespace heapwright::collect
