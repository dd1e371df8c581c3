// SPDX-License-Identifier: MIT
#include "record/sampled_blocks.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>

namespace heapwright::record {
namespace {

struct Memory {
  SampleSlots slots{};
  SamplesAlike alike{};
};

const void* block_at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

TEST(SampledBlocks, RemembersAndForgetsEachBlockOnce) {
  const auto memory = std::make_unique<Memory>();
  const SampledBlocks sampled(memory->slots, memory->alike);
  std::set<std::uintptr_t> blocks;
  for (std::uintptr_t i = 1; i <= 10'000; ++i) {
    const std::uintptr_t address = 0x7f0000000000 + i * 48;
    if (sampled.add(block_at(address))) blocks.insert(address);
  }
  EXPECT_GT(blocks.size(), 9'990U);
  EXPECT_FALSE(sampled.remove(block_at(0x5500000000)));
  for (const std::uintptr_t address : blocks) EXPECT_TRUE(sampled.may_hold(block_at(address)));
  for (const std::uintptr_t address : blocks) {
    EXPECT_TRUE(sampled.remove(block_at(address)));
    EXPECT_FALSE(sampled.remove(block_at(address)));
  }
  // Releases are told by one byte again, a refused block's included.
  for (const std::uintptr_t address : blocks) EXPECT_FALSE(sampled.may_hold(block_at(address)));
}

}  // namespace
}  // namespace heapwright::record
