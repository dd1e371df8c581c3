// SPDX-License-Identifier: MIT
// Locks its memory, now and in future, as real-time programs do, and goes on: new threads, deep stacks.
//
//   locks_memory THREADS
#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstdint>
#include <thread>
#include <vector>

#include "say.hpp"

namespace {

constexpr int pairs = 1000;

[[gnu::noinline]] void make_pairs() {
  for (int i = 0; i < pairs; ++i) std::free(keep(std::malloc(25'001)));
}

// Each pattern of the bits is another stack: 2^15 leaves.
[[gnu::noinline]] void descend(std::uint32_t path, int depth);
[[gnu::noinline]] void left(std::uint32_t path, int depth) { descend(path >> 1U, depth - 1); }
[[gnu::noinline]] void right(std::uint32_t path, int depth) { descend(path >> 1U, depth - 1); }
void descend(std::uint32_t path, int depth) {
  if (depth == 0) {
    std::free(keep(std::malloc(25'003)));
  } else if ((path & 1U) != 0) {
    left(path, depth);
  } else {
    right(path, depth);
  }
}

}  // namespace

int main(int count, char** arguments) {
  REQUIRE(count == 2);
  make_pairs();
  const int result = mlockall(MCL_CURRENT | MCL_FUTURE);
  say("note error %d\n", result == 0 ? 0 : errno);
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  say("note peak_kib %ld\n", used.ru_maxrss);
  constexpr int depth = 15;
  for (std::uint32_t path = 0; path < 1U << depth; ++path) descend(path, depth);
  const int threads = std::atoi(arguments[1]);
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) running.emplace_back(make_pairs);
  for (auto& thread : running) thread.join();
  say("allocated %d 25001 malloc\nreleased %d 25001 free\n", (1 + threads) * pairs, (1 + threads) * pairs);
  say("allocated %d 25003 malloc\nreleased %d 25003 free\n", 1 << depth, 1 << depth);
  return 0;
}
