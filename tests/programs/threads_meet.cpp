// SPDX-License-Identifier: MIT
// threads_meet THREADS ROUNDS: in each round every thread holds 100 blocks until all
// threads do, so that the peak does not depend on which of them is faster.
#include <barrier>
#include <thread>
#include <vector>

#include "say.hpp"

namespace {

constexpr int held = 100;

[[gnu::noinline]] void hold(std::barrier<>& all, std::size_t size) {
  void* blocks[held];
  for (void*& block : blocks) block = std::malloc(size);
  all.arrive_and_wait();
  for (void* block : blocks) std::free(block);
  all.arrive_and_wait();
}

}  // namespace

int main(int, char** words) {
  const int thread_count = std::atoi(words[1]);
  const int rounds = std::atoi(words[2]);
  std::barrier all(thread_count);
  std::vector<std::thread> threads;
  for (int i = 0; i < thread_count; ++i) {
    threads.emplace_back([&all, i, rounds] {
      for (int round = 0; round < rounds; ++round) hold(all, 3001 + 16 * static_cast<std::size_t>(i));
    });
  }
  for (auto& thread : threads) thread.join();
  return 0;
}
