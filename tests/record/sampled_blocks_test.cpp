// SPDX-License-Identifier: MIT
#include "record/sampled_blocks.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <set>

namespace heapwright::record {
namespace {

struct Memory {
  SampleSlots slots{};
  SamplesAlike alike{};
  SamplePages pages{};
  std::atomic<std::uint64_t> resident_bytes{0};
};

const void* block_at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

TEST(SampledBlocks, RemembersAndForgetsEachBlockOnce) {
  const auto memory = std::make_unique<Memory>();
  const SampledBlocks sampled(memory->slots, memory->alike, memory->pages, memory->resident_bytes);
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

TEST(SampledBlocks, TellsWhatItsMemoryTakes) {
  const auto memory = std::make_unique<Memory>();
  const SampledBlocks sampled(memory->slots, memory->alike, memory->pages, memory->resident_bytes);
  for (int round = 0; round < 2; ++round) {
    for (std::uintptr_t i = 1; i <= 300; ++i) sampled.add(block_at(0x7f0000000000 + i * 4096));
    for (std::uintptr_t i = 1; i <= 300; ++i) sampled.remove(block_at(0x7f0000000000 + i * 4096));
  }
  std::size_t written = 0;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(memory->pages);
  for (std::size_t i = 0; i < sizeof memory->pages; ++i) written += std::popcount(bytes[i]);
  EXPECT_EQ(memory->resident_bytes.load(), written * 4096);
  EXPECT_GT(written, 200U);
  EXPECT_LE(written, 300U);
}

}  // namespace
}  // namespace heapwright::record
