// SPDX-License-Identifier: MIT
#include "base/kept_blocks.hpp"

#include <gtest/gtest.h>

namespace heapwright::base {
namespace {

char blocks[KeptBlocks::most + 1];

TEST(KeptBlocks, GivesTheNewestThatIsLittleLargerThanWanted) {
  KeptBlocks kept;
  kept.keep({&blocks[0], 100}, 1000);
  kept.keep({&blocks[1], 126}, 1000);
  kept.keep({&blocks[2], 99}, 1000);
  EXPECT_EQ(kept.bytes(), 325u);
  EXPECT_EQ(kept.take(100), &blocks[0]);
  EXPECT_EQ(kept.take(100), nullptr) << "126 is more than a quarter larger";
  EXPECT_EQ(kept.take(101), &blocks[1]);
  EXPECT_EQ(kept.count(), 1u);
  EXPECT_EQ(kept.bytes(), 99u);
}

TEST(KeptBlocks, TheOldestGoWhereThereIsNoRoom) {
  KeptBlocks kept;
  for (std::size_t i = 0; i < KeptBlocks::most; ++i) {
    EXPECT_EQ(kept.keep({&blocks[i], 10 + i}, 1000).count, 0u);
  }
  auto surplus = kept.keep({&blocks[KeptBlocks::most], 30}, 1000);
  EXPECT_EQ(surplus.count, 1u);
  EXPECT_EQ(surplus.blocks[0], &blocks[0]) << "one more than fits";
  EXPECT_FALSE(kept.has(&blocks[0]));
  EXPECT_TRUE(kept.has(&blocks[1]));
  surplus = kept.keep({&blocks[0], 90}, 150);
  EXPECT_EQ(surplus.count, 6u);
  EXPECT_EQ(surplus.blocks[0], &blocks[1]);
  EXPECT_LE(kept.bytes(), 150u);
  surplus = kept.keep({&blocks[1], 151}, 150);
  EXPECT_EQ(surplus.count, 1u) << "it is too large itself";
  EXPECT_EQ(surplus.blocks[0], &blocks[1]);
}

}  // namespace
}  // namespace heapwright::base
