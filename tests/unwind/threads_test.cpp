// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "witness.hpp"

namespace heapwright::unwind {
namespace {

[[gnu::noinline]] void first_caller() {
  checked_capture();
  asm volatile("");
}
[[gnu::noinline]] void second_caller(int value) {
  checked_capture();
  KEEP(value);
}

[[gnu::noinline]] int random_calls(std::mt19937& random, int depth) {
  const unsigned choice = random() % 8;
  volatile int local = depth;
  if (choice < 3) first_caller();
  if (choice == 3) second_caller(depth);
  if (depth > 0 && choice < 7) local = local + random_calls(random, depth - 1);
  if (choice > 4) second_caller(local);
  return local;
}

void run_thread(unsigned seed) {
  std::mt19937 random(seed);
  for (int round = 0; round < 400; ++round) random_calls(random, 30);
}

bool has_duplicate_nodes(session::ProcessBlock& block) {
  std::vector<std::uint64_t> words;
  for (const session::NodeWord& node : block.nodes) {
    if (node.load() != 0) words.push_back(node.load());
  }
  EXPECT_EQ(words.size(), block.node_count.load());
  std::sort(words.begin(), words.end());
  return std::adjacent_find(words.begin(), words.end()) != words.end();
}

bool has_duplicate_pcs(session::ProcessBlock& block) {
  std::vector<std::uint64_t> keys;
  for (const session::PcEntry& entry : block.pcs) {
    if (entry.key.load() != 0) keys.push_back(entry.key.load());
  }
  EXPECT_EQ(keys.size(), block.pc_count.load());
  std::sort(keys.begin(), keys.end());
  return std::adjacent_find(keys.begin(), keys.end()) != keys.end();
}

TEST(Threads, ShareTablesWithoutDuplicates) {
  TestProcess process;
  const Checks checks;
  for (unsigned wave = 0; wave < 3; ++wave) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 8; ++i) threads.emplace_back(run_thread, wave * 8 + i % 4);
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EXACT(checks, 5000U);
  EXPECT_FALSE(has_duplicate_nodes(process.block()));
  EXPECT_FALSE(has_duplicate_pcs(process.block()));
}

TEST(Threads, StackGivenByTheProgram) {
  TestProcess process;
  const Checks checks;
  constexpr std::size_t stack_bytes = 1 << 18;
  for (unsigned round = 0; round < 10; ++round) {
    void* memory = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, memory, stack_bytes);
    pthread_t thread;
    const auto body = [](void*) -> void* { return run_thread(99), nullptr; };
    ASSERT_EQ(pthread_create(&thread, &attributes, body, nullptr), 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    munmap(memory, stack_bytes);
  }
  EXPECT_EXACT(checks, 1000U);
}

}  // namespace
}  // namespace heapwright::unwind
