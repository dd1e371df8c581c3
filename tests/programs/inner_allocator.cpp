// SPDX-License-Identifier: MIT
// Threads that use an allocator inside the executable. Linked statically: libc's malloc. PREFIXED: one with
// jemalloc's names and prefix, which no library can call; it never reuses a block.
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstring>

#include "say.hpp"

namespace {

constexpr int threads = 4;
constexpr int rounds = 500;

#ifdef PREFIXED
struct alignas(64) Header {
  std::size_t size;
};
alignas(64) char pool[64 << 20];
constexpr std::size_t most = 1 << 20;
std::atomic<std::size_t> used{0};
std::atomic<std::size_t> released{0};

void* take(std::size_t size) {
  const std::size_t at = used.fetch_add(sizeof(Header) + (size + 63) / 64 * 64);
  auto* const header = reinterpret_cast<Header*>(pool + at);
  header->size = size;
  return header + 1;
}

void* move(void* old_block, std::size_t size) {
  void* const block = take(size);
  const std::size_t old_size = static_cast<Header*>(old_block)[-1].size;
  return std::memcpy(block, old_block, old_size < size ? old_size : size);
}
#endif

}  // namespace

#ifdef PREFIXED
#define INNER(name) je_##name
extern "C" {
// No function begins with a call, which could not be moved.
[[gnu::noinline]] void* je_malloc(std::size_t size) { return size > most ? nullptr : take(size); }
[[gnu::noinline]] void* je_calloc(std::size_t count, std::size_t size) {
  return count * size > most ? nullptr : take(count * size);
}
[[gnu::noinline]] void* je_realloc(void* block, std::size_t size) {
  return size > most ? nullptr : move(block, size);
}
[[gnu::noinline]] void je_free(void* block) { released.fetch_add(block != nullptr ? 1 : 0); }
[[gnu::noinline]] std::size_t je_malloc_usable_size(void* block) {
  return static_cast<Header*>(block)[-1].size;
}
[[gnu::noinline]] void* je_mallocx(std::size_t size, int) { return size > most ? nullptr : take(size); }
[[gnu::noinline]] void* je_rallocx(void* block, std::size_t size, int) {
  return size > most ? nullptr : move(block, size);
}
[[gnu::noinline]] void je_sdallocx(void* block, std::size_t, int) {
  released.fetch_add(block != nullptr ? 1 : 0);
}
}
#else
#define INNER(name) name
#endif

namespace {

void use_own_names() {
#ifdef PREFIXED
  constexpr int zeroed = 0x40;
  je_sdallocx(keep(je_mallocx(3041, 6)), 3041, 6);
  je_sdallocx(je_rallocx(keep(je_mallocx(3043, zeroed)), 3045, 0), 3045, 0);
#endif
}

void* work(void*) {
  for (int round = 0; round < rounds; ++round) {
    INNER(free)(keep(INNER(malloc)(3001)));
    void* const block = keep(INNER(calloc)(1, 3021));
    INNER(free)(keep(INNER(realloc)(block, 3031)));
    use_own_names();
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  pthread_t made[threads];
  for (pthread_t& thread : made) REQUIRE(pthread_create(&thread, nullptr, &work, nullptr) == 0);
  for (const pthread_t thread : made) REQUIRE(pthread_join(thread, nullptr) == 0);
  constexpr int calls = threads * rounds;
  say("allocated %d 3001 malloc\nreleased %d 3001 free\n", calls, calls);
  say("allocated %d 3021 calloc\nallocated %d 3031 realloc\nreleased %d 3031 free\n", calls, calls, calls);
#ifdef PREFIXED
  say("allocated %d 3041 aligned_alloc\nreleased %d 3041 free_sized\n", calls, calls);
  say("allocated %d 3043 calloc\nallocated %d 3045 realloc\nreleased %d 3045 free_sized\n", calls, calls,
      calls);
#endif
  return argc > 1 ? std::atoi(argv[1]) : 0;
}
