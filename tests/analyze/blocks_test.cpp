// SPDX-License-Identifier: MIT
#include "analyze/blocks.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>

namespace heapwright::analyze {
namespace {

struct Step {
  std::uint64_t address;
  std::uint32_t hint;
};

// Makes and releases blocks at random, hints taken `steps_ahead` steps before
// their use, and compares with a map.
void compare_with_map(std::uint64_t addresses, std::size_t steps, std::size_t steps_ahead) {
  std::mt19937_64 random(addresses);
  Blocks blocks;
  std::map<std::uint64_t, std::uint32_t> expected;  // address -> number of its step
  std::deque<Step> ahead;
  for (std::uint32_t step = 1; step <= steps; ++step) {
    const auto address = 0x10000 + random() % addresses * 16 + step / 1000 * 4096;
    blocks.prefetch(address);
    ahead.push_back({address, blocks.locate(address)});
    if (ahead.size() <= steps_ahead) {
      continue;
    }
    const auto [now, hint] = ahead.front();
    ahead.pop_front();
    auto* live = blocks.find(now, hint);
    const auto known = expected.find(now);
    ASSERT_EQ(live != nullptr, known != expected.end()) << "step " << step;
    if (live != nullptr) {
      ASSERT_EQ(live->size, known->second);
      live->flags = 0;
      expected.erase(known);
      continue;
    }
    auto& slot = blocks.claim(now, hint);
    ASSERT_EQ(slot.address, now);
    ASSERT_EQ(slot.flags, 0);
    slot.size = step;
    slot.flags = slot_live;
    expected[now] = step;
  }
  std::size_t visited = 0;
  blocks.for_each_live([&](const Slot& slot) {
    ++visited;
    ASSERT_EQ(expected.at(slot.address), slot.size);
  });
  EXPECT_EQ(visited, expected.size());
}

TEST(Blocks, AreFoundByAddressWhileTheyLive) { compare_with_map(5000, 200'000, 0); }

// The addresses wander, so the table is rebuilt again and again.
TEST(Blocks, AreFoundWithHintsFromBeforeARebuild) { compare_with_map(20'000, 400'000, 16); }

TEST(Blocks, OfAdjacentBytesAreToldApart) {
  Blocks blocks;
  for (std::uint64_t address = 0x1000; address < 0x1010; ++address) {
    auto& slot = blocks.claim(address);
    slot.flags = slot_live;
    slot.size = static_cast<std::uint32_t>(address);
  }
  for (std::uint64_t address = 0x1000; address < 0x1010; ++address) {
    ASSERT_NE(blocks.find(address), nullptr);
    EXPECT_EQ(blocks.find(address)->size, address);
  }
  EXPECT_EQ(blocks.find(0x1010), nullptr);
}

}  // namespace
}  // namespace heapwright::analyze
