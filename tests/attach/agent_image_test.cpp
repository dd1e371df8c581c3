// SPDX-License-Identifier: MIT
#include "attach/agent_image.hpp"

#include <gtest/gtest.h>

#include <set>

#include "attach/agent/layout.hpp"
#include "attach/region.hpp"

namespace heapwright::attach {
namespace {

TEST(AgentImage, EveryEntryHasAHookOfItsOwnInItsCode) {
  const AgentImage image;
  constexpr std::uint64_t base = 0x7f0000000000;
  std::set<std::uint64_t> hooks;
  for (std::size_t index = 0; index < agent::entry_count; ++index) {
    const std::uint64_t address = image.hook(static_cast<agent::Entry>(index), base);
    EXPECT_GT(address, base);
    EXPECT_LT(address, base + image.data_offset());
    hooks.insert(address);
  }
  EXPECT_EQ(hooks.size(), agent::entry_count);
}

TEST(AgentImage, DataIsOnPagesOfItsOwn) {
  const AgentImage image;
  EXPECT_EQ(image.data_offset() % 4096, 0U);
  EXPECT_EQ(image.bytes() % 4096, 0U);
  EXPECT_GE(image.agent_offset(), image.data_offset());
  EXPECT_GE(image.threads_offset(), image.data_offset());
  EXPECT_EQ(image.threads_offset() % 4096, 0U);
  EXPECT_LE(image.threads_offset() + sizeof(agent::WipedOnFork), image.bytes());
  // Nothing but threads is wiped at a fork.
  EXPECT_TRUE(image.agent_offset() + sizeof(agent::Agent) <= image.threads_offset() ||
              image.agent_offset() >= image.threads_offset() + sizeof(agent::WipedOnFork));
}

TEST(Region, ItsPartsDoNotOverlap) {
  const AgentImage image;
  const Region region(0x7f0000000000, image);
  EXPECT_EQ(region.slot(max_slots - 1) + sizeof(Slot), region.image());
  EXPECT_EQ(region.page() + sizeof(counters::CallsPage), region.base() + Region::bytes(image));
  EXPECT_EQ(region.page() % 4096, 0U);
}

}  // namespace
}  // namespace heapwright::attach
