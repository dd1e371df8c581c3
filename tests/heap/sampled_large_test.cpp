// SPDX-License-Identifier: MIT
// Blocks above 64 KiB that lie between units out of reach, without hardened mode.
#include "heap/pages/sampled_large.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "heap/base/settings.hpp"
#include "heap/front/allocate.hpp"
#include "heap/pages/free_runs.hpp"
#include "heap/pages/guards.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/service/process.hpp"

namespace heapwright::heap {
namespace {

constexpr std::size_t sampled_bytes = 100'000;
constexpr int most_tries = 100'000;

class SampledLarge : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(initialize_process());
    settings.has_maintenance_thread = false;
  }
  void TearDown() override { EXPECT_TRUE(page_source_is_valid()); }
};

// Null: none in so many tries.
UnitLine* sample(std::size_t bytes) {
  std::uint32_t left = 0;
  for (int i = 0; i < most_tries; ++i) {
    const LargeBlock block = allocate_sampled(bytes, &left);
    if (block.memory != nullptr) return line_at(block.memory);
  }
  return nullptr;
}

int count_sampled(int blocks) {
  int found = 0;
  for (int i = 0; i < blocks; ++i) {
    void* block = allocate(sampled_bytes);
    found += is_sampled_large(line_at(block)) ? 1 : 0;
    release(block);
  }
  return found;
}

TEST_F(SampledLarge, AboutOneInFiveThousandIs) {
  while (count_sampled(1) == 0) {  // behind those that a process begins with
  }
  // The gaps are drawn evenly from 1 to 10,000, so that 100 in 500,000 vary by 6 (one sigma).
  const int found = count_sampled(500'000);
  EXPECT_GT(found, 60);
  EXPECT_LT(found, 140);
}

TEST_F(SampledLarge, NoLongerOneIsAndNoneUnderALimit) {
  EXPECT_EQ(sample((std::size_t{1} << 20) + 1), nullptr);
  const std::size_t before = source.limit_bytes;
  source.limit_bytes = std::size_t{1} << 40;
  EXPECT_EQ(sample(sampled_bytes), nullptr);
  source.limit_bytes = before;
}

TEST_F(SampledLarge, NoMoreAreThanMayBe) {
  const std::uint32_t before = guarded_runs.exchange(most_sampled);
  EXPECT_EQ(sample(sampled_bytes), nullptr);
  guarded_runs = before;
}

TEST_F(SampledLarge, ASecondFreeIsKnownUntilEightWereFreed) {
  UnitLine* first = sample(sampled_bytes);
  ASSERT_NE(first, nullptr);
  EXPECT_TRUE(free_sampled(first));
  for (int i = 0; i < 7; ++i) {
    UnitLine* other = sample(sampled_bytes);
    ASSERT_NE(other, nullptr);
    EXPECT_NE(other, first);
    EXPECT_TRUE(free_sampled(other));
    EXPECT_FALSE(free_sampled(first));
  }
  const std::uint32_t guarded = guarded_runs;
  EXPECT_EQ(first->kind, UnitKind::large);
  EXPECT_TRUE(free_sampled(sample(sampled_bytes)));
  EXPECT_EQ(guarded_runs, guarded);  // one more, and the first is free for others
  EXPECT_NE(first->kind, UnitKind::large);
}

TEST_F(SampledLarge, ReallocKeepsItsBytesAndLeavesItsGuards) {
  UnitLine* line = sample(sampled_bytes);
  ASSERT_NE(line, nullptr);
  auto* block = memory_of(unit_of(line));
  std::memset(block, 7, sampled_bytes);
  EXPECT_EQ(reallocate(block, sampled_bytes + 100), block);  // its last page has as many
  EXPECT_EQ(resize_large(line, 2 * sampled_bytes), nullptr);
  EXPECT_EQ(resize_large(line, sampled_bytes - 5000), nullptr);
  auto* moved = static_cast<char*>(reallocate(block, 2 * sampled_bytes));
  ASSERT_NE(moved, nullptr);
  EXPECT_NE(moved, block);
  for (std::size_t i = 0; i < sampled_bytes; ++i) ASSERT_EQ(moved[i], 7);
  EXPECT_FALSE(free_sampled(line));
  release(moved);
}

TEST_F(SampledLarge, WhatThreadsMakeAndFreeAtOnceIsLostNowhere) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      std::vector<void*> blocks(16);
      for (std::size_t k = 0; k < 100'000; ++k) {
        void*& block = blocks[k % blocks.size()];
        release(block);
        block = allocate(70'000 + k % 8 * 10'000);
        *static_cast<std::size_t*>(block) = k;
      }
      for (void* block : blocks) release(block);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(guarded_runs, 8U);
}

}  // namespace
}  // namespace heapwright::heap
