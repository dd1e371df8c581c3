// SPDX-License-Identifier: MIT
// A program that does little but allocate: 4096 slots, each freed and made anew at
// random, seven of eight up to 256 bytes and the others up to 2 KiB, some of which is
// written. Prints nanoseconds of CPU time for a free and a malloc.
//   hardened_load THREADS ROUNDS
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>

namespace {

void run(long rounds, unsigned random) {
  std::vector<char*> slots(4096);
  for (long i = 0; i < rounds; ++i) {
    random = random * 1664525U + 1013904223U;
    char*& slot = slots[random >> 8 & 4095];
    std::free(slot);
    const std::size_t bytes = 1 + (random >> 12 & ((random >> 20 & 7) != 0 ? 255 : 2047));
    slot = static_cast<char*>(std::malloc(bytes));
    std::memset(slot, 1, bytes < 64 ? bytes : 64);
  }
  for (char* slot : slots) std::free(slot);
}

}  // namespace

int main(int, char** argv) {
  const int thread_count = std::atoi(argv[1]);
  const long rounds = std::atol(argv[2]);
  std::vector<std::thread> threads;
  for (int i = 1; i < thread_count; ++i) threads.emplace_back(run, rounds, 3 + i);
  run(rounds, 3);
  for (std::thread& thread : threads) thread.join();
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  const double ns = static_cast<double>(used.tv_sec) * 1e9 + static_cast<double>(used.tv_nsec);
  std::printf("%.1f\n", ns / static_cast<double>(rounds) / thread_count);
  return 0;
}
