// SPDX-License-Identifier: MIT
#include "replay/block_table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace heapwright::replay {
namespace {

TEST(BlockTable, AgreesWithAMapThroughRandomChanges) {
  BlockTable table;
  std::map<std::uint64_t, std::uint32_t> expected;
  std::mt19937_64 random(7);
  for (std::uint32_t step = 0; step < 200'000; ++step) {
    const std::uint64_t address = 16 + random() % 4096 * 16;
    const LiveBlock found = table.take(address);
    const auto known = expected.find(address);
    ASSERT_EQ(found.address, known == expected.end() ? 0 : address);
    if (known != expected.end()) {
      ASSERT_EQ(found.slot, known->second);
      expected.erase(known);
    } else {
      table.put({address, step, step});
      expected[address] = step;
    }
    ASSERT_EQ(table.size(), expected.size());
  }
}

TEST(BlockTable, GrowsAndKeepsWhatItHolds) {
  BlockTable table;
  constexpr std::uint32_t blocks = 100'000;
  for (std::uint32_t i = 1; i <= blocks; ++i) table.put({i * std::uint64_t{48}, i, i});
  for (std::uint32_t i = 1; i <= blocks; ++i) ASSERT_EQ(table.take(i * std::uint64_t{48}).slot, i);
  EXPECT_EQ(table.size(), 0u);
}

}  // namespace
}  // namespace heapwright::replay
