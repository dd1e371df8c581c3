// SPDX-License-Identifier: MIT
// Threads exchange blocks through common slots, so that most are freed or
// resized by another thread than made them; threads end and others take their
// place all the while. The whole content of each block is checked.
//   exchange STEPS THREADS GENERATIONS
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "public_names.hpp"

namespace {

constexpr std::size_t slots = 2000;
std::atomic<unsigned char*> shared[slots];

std::size_t size_of(std::uint32_t random) {
  if (random % 100 == 0) return 60000 + random % 500000;
  return random % 7 == 0 ? random % 20000 : random % 500;
}

// Size and a pattern made of it; blocks have at least eight bytes.
void write(unsigned char* block, std::size_t bytes) {
  std::memcpy(block, &bytes, sizeof(bytes));
  std::memset(block + sizeof(bytes), static_cast<int>(bytes * 37 & 0xFF), bytes - sizeof(bytes));
}

std::size_t checked_size(const unsigned char* block) {
  std::size_t bytes = 0;
  std::memcpy(&bytes, block, sizeof(bytes));
  REQUIRE(bytes >= sizeof(bytes) && bytes < 1'000'000);
  const auto fill = static_cast<unsigned char>(bytes * 37);
  REQUIRE(std::all_of(block + sizeof(bytes), block + bytes, [=](unsigned char c) { return c == fill; }));
  return bytes;
}

void exchange(std::uint32_t random, long steps) {
  for (long i = 0; i < steps; ++i) {
    random = random * 1664525 + 1013904223;
    const std::size_t bytes = size_of(random >> 8) + sizeof(std::size_t);
    auto* block = static_cast<unsigned char*>(i % 5 == 0 ? std::calloc(1, bytes) : std::malloc(bytes));
    REQUIRE(block != nullptr);
    if (i % 5 == 0) REQUIRE(std::all_of(block, block + bytes, [](unsigned char c) { return c == 0; }));
    write(block, bytes);
    unsigned char* old = shared[(random >> 4) % slots].exchange(block, std::memory_order_acq_rel);
    if (old == nullptr) continue;
    const std::size_t old_bytes = checked_size(old);
    if (i % 11 == 0) {
      const std::size_t wanted = old_bytes * (1 + i % 3) + 100;
      old = static_cast<unsigned char*>(std::realloc(old, wanted));
      REQUIRE(old != nullptr && checked_size(old) == old_bytes);
      std::free(old);
    } else {
      free_sized_or_free(old, old_bytes);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const long steps = argc > 1 ? std::atol(argv[1]) : 20000;
  const std::uint32_t thread_count = argc > 2 ? static_cast<std::uint32_t>(std::atoi(argv[2])) : 4;
  const std::uint32_t generations = argc > 3 ? static_cast<std::uint32_t>(std::atoi(argv[3])) : 20;
  for (std::uint32_t generation = 0; generation < generations; ++generation) {
    std::vector<std::thread> threads;
    for (std::uint32_t i = 0; i < thread_count; ++i) {
      threads.emplace_back(exchange, generation * 1000 + i, steps);
    }
    for (auto& thread : threads) thread.join();
    require_valid();
  }
  for (auto& slot : shared) {
    if (unsigned char* block = slot.exchange(nullptr)) {
      checked_size(block);
      std::free(block);
    }
  }
  require_valid();
  say("done\n");
  return 0;
}
