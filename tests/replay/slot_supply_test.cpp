// SPDX-License-Identifier: MIT
#include "replay/slot_supply.hpp"

#include <gtest/gtest.h>

namespace heapwright::replay {
namespace {

TEST(SlotSupply, ALaneUsesItsOwnSlotsAgain) {
  SlotSupply slots(2);
  const auto first = slots.take(0);
  slots.advance(first, 1);
  slots.advance(first, 1);
  slots.give_back(0, first);
  EXPECT_NE(slots.take(1), first);
  EXPECT_EQ(slots.take(0), first);
  EXPECT_EQ(slots.advance(first, 1), 2u);
  EXPECT_EQ(slots.count(), 2u);
}

TEST(SlotSupply, SlotsThatOneLaneEmptiesServeAllInTheEnd) {
  SlotSupply slots(2);
  for (std::uint32_t block = 0; block < 1'000'000; ++block) slots.give_back(1, slots.take(0));
  EXPECT_LT(slots.count(), 100'000u);
}

TEST(SlotSupply, AClosedLanesSlotsServeTheOthers) {
  SlotSupply slots(2);
  for (std::uint32_t round = 0; round < 100; ++round) {
    std::vector<std::uint32_t> taken;
    for (std::uint32_t block = 0; block < 4000; ++block) taken.push_back(slots.take(round % 2));
    for (const auto slot : taken) slots.give_back(round % 2, slot);
    slots.close(round % 2);
  }
  EXPECT_LT(slots.count(), 100'000u);
}

}  // namespace
}  // namespace heapwright::replay
