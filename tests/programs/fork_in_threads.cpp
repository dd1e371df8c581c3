// SPDX-License-Identifier: MIT
// Forks while four threads allocate: whatever the recorder holds at that
// moment, the child must be able to allocate.
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "say.hpp"

int main() {
  constexpr int forks = 50;
  std::atomic<bool> is_done{false};
  std::atomic<long> pairs{0};
  std::thread threads[4];
  for (auto& thread : threads) {
    thread = std::thread([&] {
      long mine = 0;
      for (; !is_done.load(std::memory_order_relaxed); ++mine) std::free(keep(std::malloc(3001)));
      pairs += mine;
    });
  }
  for (int i = 0; i < forks; ++i) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (int block = 0; block < 10; ++block) std::free(keep(std::malloc(3011)));
      _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
  }
  is_done = true;
  for (auto& thread : threads) thread.join();
  say("allocated %ld 3001 malloc\nreleased %ld 3001 free\nnote children %d\n", pairs.load(), pairs.load(),
      forks);
  return 0;
}
