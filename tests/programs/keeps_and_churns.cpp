// SPDX-License-Identifier: MIT
// Keeps what it makes at first, and makes and frees without end afterwards: argv[1] rounds of threads, each
// with a fork and a block that grows by realloc. Prints "ready" then, and waits for a line.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace {

constexpr int kept_blocks = 2000;
constexpr std::size_t kept_bytes = 4096;
constexpr int threads = 4;
constexpr int blocks_of_thread = 2000;

[[gnu::noinline]] void* keep_one() { return malloc(kept_bytes); }

[[gnu::noinline]] void* grow(void* block, std::size_t bytes) { return realloc(block, bytes); }

[[gnu::noinline]] void churn(unsigned seed) {
  std::vector<void*> blocks(16);
  for (int i = 0; i < blocks_of_thread; ++i) {
    void*& block = blocks[static_cast<std::size_t>(i) % blocks.size()];
    free(block);
    seed = seed * 1664525 + 1013904223;
    block = malloc(16 + seed % 100'000);
  }
  for (void* block : blocks) free(block);
}

}  // namespace

int main(int, char** values) {
  std::vector<void*> kept;
  for (int i = 0; i < kept_blocks; ++i) kept.push_back(keep_one());
  void* growing = nullptr;
  for (int round = 1; round <= atoi(values[1]); ++round) {
    growing = grow(growing, static_cast<std::size_t>(round) * 1000);
    std::vector<std::thread> running;
    for (int thread = 0; thread < threads; ++thread) {
      running.emplace_back(churn, static_cast<unsigned>(round * threads + thread));
    }
    const pid_t child = fork();
    if (child == 0) _exit(0);
    for (std::thread& thread : running) thread.join();
    waitpid(child, nullptr, 0);
  }
  puts("ready");
  fflush(stdout);
  getchar();
  return kept.empty() || growing == nullptr ? 1 : 0;
}
