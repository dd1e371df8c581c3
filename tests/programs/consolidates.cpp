// SPDX-License-Identifier: MIT
// consolidates BLOCKS vector|array: so many blocks of 4 bytes, all freed; then one malloc(1024), which merges
// them. Their pointers are in a vector that is gone by then, or in an array that stays.
#include <time.h>

#include <vector>

#include "say.hpp"

namespace {

long now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

[[gnu::noinline]] void* small_block() { return std::malloc(4); }

void in_a_vector(std::size_t count) {
  std::vector<void*> blocks(count);
  for (void*& block : blocks) block = small_block();
  for (void* block : blocks) std::free(block);
}

void* kept[20'000'000];

void in_an_array(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) kept[i] = small_block();
  for (std::size_t i = 0; i < count; ++i) std::free(kept[i]);
}

[[gnu::noinline]] void* victim() { return std::malloc(1024); }

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 10'000'000;
  REQUIRE(count <= sizeof kept / sizeof kept[0]);
  (argc > 2 && std::strcmp(argv[2], "array") == 0 ? in_an_array : in_a_vector)(count);
  const long begin_ns = now_ns();
  void* block = victim();
  say("note slow_ns %ld\n", now_ns() - begin_ns);
  std::free(block);
  return 0;
}
