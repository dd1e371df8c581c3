// SPDX-License-Identifier: MIT
#include "lab/buffer_policies.hpp"

#include <gtest/gtest.h>

namespace heapwright::lab {
namespace {

// Gives back a fresh buffer of this size.
void give_back(BufferSource& source, std::size_t size_bytes) {
  source.give_back({std::malloc(size_bytes), size_bytes});
}

TEST(BufferSource, NoCacheGivesExactlyWhatIsAskedFor) {
  BufferSource source(BufferPolicy::none, 1, 200);
  give_back(source, 800);
  const CachedBuffer buffer = source.take(100);
  EXPECT_EQ(buffer.size_bytes, 100u);
  EXPECT_EQ(source.hits(), 0u);
  std::free(buffer.memory);
}

TEST(BufferSource, FlawedKeepsTheLargerAndHandsItToSmallCallers) {
  BufferSource source(BufferPolicy::flawed, 1, 200);
  give_back(source, 400);
  give_back(source, 100);
  EXPECT_EQ(source.cached_bytes(), 400u);
  give_back(source, 6400);
  EXPECT_EQ(source.cached_bytes(), 6400u);
  const CachedBuffer buffer = source.take(100);
  EXPECT_EQ(buffer.size_bytes, 6400u);
  EXPECT_EQ(source.cached_bytes(), 0u);
  std::free(buffer.memory);
}

TEST(BufferSource, CutoffNeverCachesLargeOnesAndFreesWhenFull) {
  BufferSource source(BufferPolicy::cutoff, 1, 200);
  give_back(source, 400);
  EXPECT_EQ(source.cached_bytes(), 0u);
  give_back(source, 100);
  give_back(source, 200);
  EXPECT_EQ(source.cached_bytes(), 100u);
  std::free(source.take(100).memory);
}

TEST(BufferSource, BucketedRefusesToWasteHalf) {
  BufferSource source(BufferPolicy::bucketed, 1, 200);
  give_back(source, 400);
  const CachedBuffer small = source.take(200);
  EXPECT_EQ(small.size_bytes, 200u);
  const CachedBuffer fitting = source.take(201);
  EXPECT_EQ(fitting.size_bytes, 400u);
  std::free(small.memory);
  std::free(fitting.memory);
}

TEST(BufferSource, DeeperCachesHoldMore) {
  BufferSource source(BufferPolicy::flawed, 3, 200);
  for (const std::size_t size : {100u, 200u, 400u, 800u}) give_back(source, size);
  EXPECT_EQ(source.cached_bytes(), 1400u);
  for (int i = 0; i < 3; ++i) std::free(source.take(1).memory);
}

}  // namespace
}  // namespace heapwright::lab
