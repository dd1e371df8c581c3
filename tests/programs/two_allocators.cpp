// SPDX-License-Identifier: MIT
// Threads that use an allocator inside the executable, with jemalloc's names and a prefix, and libc's malloc;
// a library calls only the latter, already in its constructor. Large blocks of the one inside are libc's:
// what it calls for them is not the program's. "waits": for a line before it begins, and for another after.
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "calls_libc.hpp"
#include "say.hpp"

namespace {

constexpr int threads = 4;
constexpr int rounds = 500;
constexpr std::size_t large = 8000;

struct alignas(64) Header {
  std::size_t size;
};
alignas(64) char pool[64 << 20];
std::atomic<std::size_t> used{0};

bool is_in_pool(const void* block) { return block >= pool && block < pool + sizeof pool; }

[[gnu::noinline]] void* take_large(std::size_t size) { return keep(std::malloc(sizeof(Header) + size)); }

// Inlined: where an allocator's functions begin is often another's line.
[[gnu::always_inline]] inline void* take(std::size_t size) {
  if (size > sizeof pool) return nullptr;
  const std::size_t bytes = sizeof(Header) + (size + 63) / 64 * 64;
  void* const memory = size > large ? take_large(bytes) : pool + used.fetch_add(bytes);
  auto* const header = static_cast<Header*>(memory);
  header->size = size;
  return header + 1;
}

[[gnu::noinline]] void give_back(void* block) {
  if (block != nullptr && !is_in_pool(block)) std::free(static_cast<Header*>(block) - 1);
}

}  // namespace

extern "C" {
// No function begins with a call, which could not be moved.
[[gnu::noinline]] void* je_malloc(std::size_t size) { return take(size); }
[[gnu::noinline]] void* je_calloc(std::size_t count, std::size_t size) { return take(count * size); }
[[gnu::noinline]] std::size_t je_malloc_usable_size(void* block) {
  return static_cast<Header*>(block)[-1].size;
}
[[gnu::noinline]] void* je_realloc(void* block, std::size_t size) {
  void* const moved = take(size);
  const std::size_t old_size = static_cast<Header*>(block)[-1].size;
  std::memcpy(moved, block, old_size < size ? old_size : size);
  give_back(block);
  return moved;
}
[[gnu::noinline]] void je_free(void* block) {
  if (block == nullptr) return;
  give_back(block);
}
}

namespace {

void* kept_inside;
void* kept_outside;

void* work(void*) {
  for (int round = 0; round < rounds; ++round) {
    je_free(je_realloc(keep(je_malloc(3001)), 3031));
    je_free(je_realloc(keep(je_calloc(1, 9021)), 9031));
    std::free(keep(std::realloc(keep(std::malloc(3101)), 3131)));
    library_free(keep(library_make(3201)));
  }
  return nullptr;
}

void wait_if(bool is_wanted) {
  char letter = 0;
  while (is_wanted && ::read(0, &letter, 1) == 1 && letter != '\n') {
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool waits = argc > 1 && std::strcmp(argv[1], "waits") == 0;
  if (waits) say("note ready 1\n");
  wait_if(waits);
  pthread_t made[threads];
  for (pthread_t& thread : made) REQUIRE(pthread_create(&thread, nullptr, &work, nullptr) == 0);
  for (const pthread_t thread : made) REQUIRE(pthread_join(thread, nullptr) == 0);
  kept_inside = keep(je_malloc(5001));
  kept_outside = keep(std::malloc(7001));
  constexpr int calls = threads * rounds;
  say("allocated %d 3001 malloc\nallocated %d 3031 realloc\nreleased %d 3031 free\n", calls, calls, calls);
  say("allocated %d 9021 calloc\nallocated %d 9031 realloc\nreleased %d 9031 free\n", calls, calls, calls);
  say("allocated %d 3101 malloc\nallocated %d 3131 realloc\nreleased %d 3131 free\n", calls, calls, calls);
  say("allocated %d 3201 malloc\nreleased %d 3201 free\n", calls, calls);
  say("allocated 1 5001 malloc\nallocated 1 7001 malloc\n");
  if (!waits) say("allocated 1 4001 malloc\nreleased 1 4001 free\n");
  free_early_block();
  wait_if(waits);
  return argc > 1 ? std::atoi(argv[1]) : 0;
}
