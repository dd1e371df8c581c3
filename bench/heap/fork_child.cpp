// SPDX-License-Identifier: MIT
// How much a fork's child grows that allocates as much as the parent's threads had freed:
//   fork_child THREADS MEGABYTES
// The threads make so many megabytes of blocks of 16 to 1024 bytes together, and each frees 3 of 4 of its own
// at random. Prints KiB: of the parent when the blocks are made and when they are freed; of the child at its
// begin, and when it has made as many bytes as were freed, of the same sizes. The last figures are the
// parent's fork in us, the fastest of 20.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "resident.hpp"

namespace {

std::size_t any_size(std::minstd_rand& random) { return 16 * (1 + random() % 8 * (1 + random() % 8)); }

// So many bytes of blocks.
std::vector<void*> make(std::size_t bytes, std::minstd_rand& random) {
  std::vector<void*> blocks;
  blocks.reserve(bytes / 256);
  for (std::size_t made = 0; made < bytes;) {
    const std::size_t size = any_size(random);
    blocks.push_back(std::memset(std::malloc(size), 1, size));
    made += size;
  }
  return blocks;
}

long fork_us() {
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) _exit(0);
  const auto end = std::chrono::steady_clock::now();
  waitpid(child, nullptr, 0);
  return static_cast<long>(std::chrono::duration_cast<std::chrono::microseconds>(end - begin).count());
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 3) return 2;
  const std::size_t count = std::strtoul(arguments[1], nullptr, 10);
  const std::size_t bytes = std::strtoul(arguments[2], nullptr, 10) * 1'000'000;
  std::barrier made(static_cast<std::ptrdiff_t>(count) + 1);
  std::barrier freed(static_cast<std::ptrdiff_t>(count) + 1);
  std::barrier over(static_cast<std::ptrdiff_t>(count) + 1);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      std::minstd_rand random(static_cast<unsigned>(i) + 1);
      std::vector<void*> blocks = make(bytes / count, random);
      std::shuffle(blocks.begin(), blocks.end(), random);
      made.arrive_and_wait();
      for (std::size_t at = 0; at < blocks.size() * 3 / 4; ++at) std::free(blocks[at]);
      freed.arrive_and_wait();
      over.arrive_and_wait();
    });
  }
  made.arrive_and_wait();
  std::printf("%ld", resident_kib());
  freed.arrive_and_wait();
  std::printf(" %ld", resident_kib());
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    std::printf(" %ld", resident_kib());
    std::minstd_rand random(99);
    make(bytes * 3 / 4, random);
    std::printf(" %ld", resident_kib());
    std::fflush(stdout);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  long least_us = fork_us();
  for (int i = 1; i < 20; ++i) least_us = std::min(least_us, fork_us());
  std::printf(" %ld\n", least_us);
  over.arrive_and_wait();
  for (std::thread& thread : threads) thread.join();
  return 0;
}
