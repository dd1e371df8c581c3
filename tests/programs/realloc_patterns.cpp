// SPDX-License-Identifier: MIT
// What realloc can do: grow, shrink, start from nothing, release, fail, and
// hand an address to another thread at once.
#include <cstdint>
#include <thread>

#include "say.hpp"

namespace {

void grow_and_shrink() {
  void* block = keep(std::realloc(nullptr, 3001));
  block = keep(std::realloc(block, 30011));
  block = keep(std::realloc(block, 300007));
  block = keep(std::realloc(block, 3019));
  std::free(block);
  say("allocated 1 3001 realloc\nallocated 1 30011 realloc\nallocated 1 300007 realloc\n");
  say("allocated 1 3019 realloc\nreleased 1 3019 free\n");
}

void fail_and_keep() {
  void* block = keep(std::malloc(3023));
  volatile std::size_t huge = SIZE_MAX / 2;
  REQUIRE(std::realloc(block, huge) == nullptr);
  REQUIRE(reallocarray(block, huge, 4) == nullptr);
  std::memset(block, 1, 3023);
  std::free(block);
  say("allocated 1 3023 malloc\nreleased 1 3023 free\nfailed 1 %zu realloc\n",
      static_cast<std::size_t>(huge));
}

// glibc releases the block and returns NULL.
void release_by_realloc() {
  void* block = keep(std::malloc(3037));
  volatile std::size_t none = 0;
  keep(std::realloc(block, none));
  say("allocated 1 3037 malloc\nreleased 1 3037 realloc\n");
}

// The old address of a moved block is another thread's next block at once.
void race() {
  constexpr int rounds = 20'000;
  std::thread threads[4];
  for (auto& thread : threads) {
    thread = std::thread([] {
      for (int i = 0; i < rounds; ++i) {
        void* block = keep(std::malloc(3041));
        std::free(keep(std::realloc(block, 6047)));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  say("allocated %d 3041 malloc\nallocated %d 6047 realloc\n", 4 * rounds, 4 * rounds);
  say("released %d 6047 free\n", 4 * rounds);
}

}  // namespace

int main() {
  grow_and_shrink();
  fail_and_keep();
  release_by_realloc();
  race();
  return 0;
}
