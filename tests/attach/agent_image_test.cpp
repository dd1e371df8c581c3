// SPDX-License-Identifier: MIT
#include "attach/agent_image.hpp"

#include <gtest/gtest.h>

#include <set>

#include "attach/agent/counting_layout.hpp"
#include "attach/recorder/layout.hpp"
#include "attach/region.hpp"

namespace heapwright::attach {
namespace {

class AgentImages : public testing::TestWithParam<AgentKind> {};

INSTANTIATE_TEST_SUITE_P(Both, AgentImages, testing::Values(AgentKind::counting, AgentKind::recording));

TEST_P(AgentImages, EveryEntryHasAHookOfItsOwnInItsCode) {
  const AgentImage image(GetParam());
  constexpr std::uint64_t base = 0x7f0000000000;
  std::set<std::uint64_t> hooks;
  const std::size_t hook_count =
      GetParam() == AgentKind::counting ? agent::index_of(agent::Entry::dlclose_) : agent::entry_count;
  for (std::size_t index = 0; index < hook_count; ++index) {
    const std::uint64_t address = image.hook(static_cast<agent::Entry>(index), false, base);
    EXPECT_GT(address, base);
    EXPECT_LT(address, base + image.data_offset());
    hooks.insert(address);
  }
  EXPECT_EQ(hooks.size(), hook_count);
}

TEST_P(AgentImages, DataIsOnPagesOfItsOwn) {
  const AgentImage image(GetParam());
  const bool is_counting = GetParam() == AgentKind::counting;
  const std::uint64_t agent_bytes =
      is_counting ? sizeof(agent::CountingAgent) : sizeof(recorder::RecordingAgent);
  EXPECT_EQ(image.data_offset() % 4096, 0U);
  EXPECT_EQ(image.bytes() % 4096, 0U);
  EXPECT_GE(image.agent_offset(), image.data_offset());
  EXPECT_GE(image.threads_offset(), image.data_offset());
  EXPECT_EQ(image.threads_offset() % 4096, 0U);
  EXPECT_EQ(image.threads_bytes(), is_counting ? sizeof(agent::WipedOnFork) : sizeof(recorder::WipedOnFork));
  EXPECT_LE(image.threads_offset() + image.threads_bytes(), image.bytes());
  // Nothing but threads is wiped at a fork.
  EXPECT_TRUE(image.agent_offset() + agent_bytes <= image.threads_offset() ||
              image.agent_offset() >= image.threads_offset() + image.threads_bytes());
}

TEST(Region, ItsPartsDoNotOverlap) {
  const AgentImage image(AgentKind::counting);
  const Region region(0x7f0000000000, image);
  EXPECT_EQ(region.slot(max_slots - 1) + sizeof(Slot), region.image());
  EXPECT_EQ(region.tail() + sizeof(counters::CallsPage), region.base() + Region::bytes(image));
  EXPECT_EQ(region.tail() % 4096, 0U);
}

}  // namespace
}  // namespace heapwright::attach
