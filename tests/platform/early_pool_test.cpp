// SPDX-License-Identifier: MIT
#include "platform/early_pool.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace heapwright::platform {
namespace {

TEST(EarlyPool, GivesAlignedZeroedBlocksOfTheSizeAskedFor) {
  for (const std::size_t alignment : {16U, 32U, 256U, 4096U}) {
    auto* block = static_cast<std::uint8_t*>(early_allocate(100, alignment));
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0U);
    EXPECT_EQ(early_size(block), 100U);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(block[i], 0);
    std::memset(block, 0xff, 100);
  }
}

TEST(EarlyPool, KnowsItsOwnBlocks) {
  void* block = early_allocate(1);
  int elsewhere = 0;
  EXPECT_TRUE(is_early(block));
  EXPECT_FALSE(is_early(&elsewhere));
  EXPECT_FALSE(is_early(nullptr));
}

TEST(EarlyPool, BlocksDoNotOverlap) {
  auto* first = static_cast<std::uint8_t*>(early_allocate(24));
  auto* second = static_cast<std::uint8_t*>(early_allocate(24));
  std::memset(first, 0xaa, 24);
  EXPECT_EQ(early_size(second), 24U);
  EXPECT_EQ(second[0], 0);
}

TEST(EarlyPool, RefusesWhatItCannotHold) {
  EXPECT_EQ(early_allocate(1U << 30), nullptr);
  EXPECT_EQ(early_allocate(SIZE_MAX), nullptr);
  while (early_allocate(4096) != nullptr) {
  }
  EXPECT_EQ(early_allocate(4096), nullptr);
}

}  // namespace
}  // namespace heapwright::platform
