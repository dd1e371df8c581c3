// SPDX-License-Identifier: MIT
#include <alloca.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "witness.hpp"

namespace heapwright::unwind {
namespace {

[[gnu::noinline]] void leaf_a() {
  checked_capture();
  asm volatile("");
}
[[gnu::noinline]] void leaf_b(int value) {
  volatile int local = value;
  checked_capture();
  local = local + 1;
}
[[gnu::noinline]] void middle(int value) {
  leaf_a();
  leaf_b(value);
  leaf_a();
}

[[gnu::noinline]] int recurse(int depth) {
  if (depth == 0) {
    middle(depth);
    return 0;
  }
  const int below = recurse(depth - 1);
  asm volatile("");
  return below + 1;
}

// Captures on the way down and up, and twice at the bottom.
[[gnu::noinline]] int capture_each_level(int depth) {
  leaf_a();
  int below = 0;
  if (depth > 0) below = capture_each_level(depth - 1);
  leaf_b(depth);
  return below + 1;
}

[[gnu::noinline]] int random_tree(std::mt19937& random, int depth) {
  volatile int local = depth;
  const unsigned choice = random() % 8;
  if (choice < 3) leaf_a();
  if (choice == 3) middle(depth);
  if (depth > 0 && choice < 7) {
    if ((random() & 1) != 0) {
      random_tree(random, depth - 1);
      local = local + 1;
    } else {
      local = local + random_tree(random, depth - 1);
    }
  }
  if (choice > 5) leaf_b(local);
  return local;
}

// A frame that moves with its argument and needs RBP.
[[gnu::noinline]] void variable_frame(std::size_t bytes, int depth) {
  auto* memory = static_cast<char*>(alloca(bytes));
  memory[0] = 1;
  KEEP(memory);
  if (depth > 0) {
    variable_frame(bytes + 24, depth - 1);
  } else {
    middle(depth);
  }
  KEEP(memory);
}

// A realigned frame: its CFA is loaded through RBP.
[[gnu::noinline]] void aligned_frame(std::size_t bytes, int depth) {
  alignas(64) char aligned[128];
  auto* memory = static_cast<char*>(alloca(bytes));
  aligned[0] = 1;
  KEEP(aligned);
  KEEP(memory);
  leaf_a();
  if (depth > 0) {
    if ((depth & 1) != 0) {
      aligned_frame(bytes + 40, depth - 1);
    } else {
      variable_frame(bytes, depth - 1);
    }
  }
  leaf_b(depth);
  KEEP(aligned);
}

int compare_and_capture(const void* left, const void* right) {
  leaf_a();
  return *static_cast<const int*>(left) - *static_cast<const int*>(right);
}

TEST(DeepStacks, RecursionOfManyDepths) {
  TestProcess process;
  const Checks checks;
  for (int round = 0; round < 2; ++round) {
    for (int depth = 0; depth < 160; ++depth) recurse(depth);
    for (const int depth : {3000, 5, 126, 127, 128, 129, 3000, 2999, 3001}) recurse(depth);
  }
  EXPECT_EXACT(checks, 900U);
}

TEST(DeepStacks, CaptureAtEachLevelBeyondTheLimit) {
  TestProcess process;
  const Checks checks;
  capture_each_level(1000);
  capture_each_level(300);
  EXPECT_EXACT(checks, 2500U);
}

TEST(DeepStacks, SmallFrameLimit) {
  TestProcess process;
  const Checks checks;
  for (const std::uint32_t limit : {1U, 2U, 7U, 64U}) {
    process.tables().max_frames = limit;
    capture_each_level(100);
  }
  EXPECT_EXACT(checks, 800U);
}

TEST(DeepStacks, RandomCallTrees) {
  TestProcess process;
  const Checks checks;
  std::mt19937 random(7);
  for (int round = 0; round < 5000; ++round) random_tree(random, 40);
  EXPECT_EXACT(checks, 5000U);
}

TEST(DeepStacks, VariableAndRealignedFrames) {
  TestProcess process;
  const Checks checks;
  for (std::size_t round = 0; round < 200; ++round) {
    variable_frame(8 + round % 5 * 100, static_cast<int>(round % 9));
    aligned_frame(8 + round % 7 * 60, static_cast<int>(round % 12));
  }
  EXPECT_EXACT(checks, 1000U);
}

TEST(DeepStacks, CallbacksFromLibc) {
  TestProcess process;
  const Checks checks;
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    int values[100];
    for (int& value : values) value = static_cast<int>(random() % 1000);
    std::qsort(values, 100, sizeof values[0], compare_and_capture);
  }
  EXPECT_EXACT(checks, 5000U);
}

TEST(DeepStacks, RepeatedStackKeepsItsNode) {
  TestProcess process;
  std::uint32_t nodes[2] = {};
  for (int round = 0; round < 4; ++round) {
    const std::uint32_t node = checked_capture();
    EXPECT_NE(node, 0U);
    if (nodes[0] == 0) nodes[0] = node;
    EXPECT_EQ(node, nodes[0]);
  }
  nodes[1] = checked_capture();
  EXPECT_NE(nodes[1], nodes[0]);
}

}  // namespace
}  // namespace heapwright::unwind
