// SPDX-License-Identifier: MIT
#include "heap/base/size_class.hpp"

#include <gtest/gtest.h>

namespace heapwright::heap {
namespace {

TEST(SizeClass, IsTheSmallestThatHoldsTheRequest) {
  for (std::size_t bytes = 1; bytes <= slab_limit_bytes; ++bytes) {
    const std::uint32_t c = class_of(bytes);
    ASSERT_LT(c, class_count);
    ASSERT_GE(block_bytes_of(c), bytes);
    if (c > 1) {
      ASSERT_LT(block_bytes_of(c - 1), bytes) << bytes;
    }
  }
}

TEST(SizeClass, ZeroBytesHaveAClassOfTheirOwnThatHoldsEight) {
  EXPECT_EQ(class_of(0), 0U);
  EXPECT_EQ(block_bytes_of(0), 8U);
}

TEST(SizeClass, BlocksAreAlignedAsMallocPromises) {
  for (std::uint32_t c = 2; c < class_count; ++c) EXPECT_EQ(block_bytes_of(c) % 16, 0U) << c;
}

TEST(SizeClass, WasteIsAtMostFifteenBytesUpToFourKiBAndSixtyThreeAbove) {
  for (std::size_t bytes = 9; bytes <= slab_limit_bytes; ++bytes) {
    EXPECT_LT(block_bytes_of(class_of(bytes)) - bytes, bytes <= small_limit_bytes ? 16U : 64U) << bytes;
  }
}

TEST(SizeClass, ACoarserClassHoldsTheBlockAndServesItself) {
  for (std::uint32_t c = 1; c < class_count; ++c) {
    const std::uint32_t coarse = size_classes[c].coarse;
    ASSERT_LT(coarse, class_count);
    EXPECT_GE(block_bytes_of(coarse), block_bytes_of(c));
    EXPECT_LE(block_bytes_of(coarse), block_bytes_of(c) + block_bytes_of(c) / 4);
    EXPECT_EQ(size_classes[coarse].coarse, coarse);
  }
}

// A request that is a multiple of an alignment gets blocks that are, from its
// own class and from the coarser one.
TEST(SizeClass, BlocksOfRoundedRequestsAreAligned) {
  for (std::size_t alignment = 16; alignment <= carve_bytes; alignment *= 2) {
    for (std::size_t bytes = alignment; bytes <= slab_limit_bytes; bytes += alignment) {
      const std::uint32_t c = class_of(bytes);
      ASSERT_EQ(block_bytes_of(c) % alignment, 0U) << bytes << ' ' << alignment;
      ASSERT_EQ(block_bytes_of(size_classes[c].coarse) % alignment, 0U) << bytes << ' ' << alignment;
    }
  }
}

TEST(SizeClass, BlocksBeginAtMultiplesOfTheirSize) {
  constexpr auto factors = make_start_factors();
  for (std::uint32_t c = 0; c < class_count; ++c) {
    const std::uint32_t bytes = block_bytes_of(c);
    std::uint32_t mistaken = 0;
    for (std::uint32_t offset = 0; offset < unit_bytes; ++offset) {
      mistaken += is_multiple(factors[c], static_cast<std::uint16_t>(offset)) != (offset % bytes == 0);
    }
    EXPECT_EQ(mistaken, 0U) << bytes;
  }
}

// The divisions are exact, and no block of any class ends behind its slab.
TEST(SizeClass, IndexIsTheQuotientForEveryOffset) {
  for (std::uint32_t c = 1; c < class_count; ++c) {
    const std::size_t bytes = block_bytes_of(c);
    for (std::size_t offset = 0; offset <= max_slab_units * unit_bytes; offset += 8) {
      ASSERT_EQ(block_index(c, offset), offset / bytes) << c << ' ' << offset;
    }
  }
}

TEST(SizeClass, ASlabHasRoomForItsBlocksAndTheyFitTheRemoteWord) {
  for (std::uint32_t c = 1; c < class_count; ++c) {
    EXPECT_GE(capacity_of(c, size_classes[c].units), block_bytes_of(c) <= small_limit_bytes ? 8U : 4U) << c;
    EXPECT_GE(capacity_of(c, first_slab_units), 1U) << c;
    EXPECT_LE(capacity_of(c, size_classes[c].units), 8192U) << c;
    EXPECT_LE(size_classes[c].units, max_slab_units) << c;
    const std::size_t slab_bytes = size_classes[c].units * unit_bytes;
    EXPECT_LE(slab_bytes % block_bytes_of(c) * 32, slab_bytes) << c;
  }
}

}  // namespace
}  // namespace heapwright::heap
