// SPDX-License-Identifier: MIT
// Blocks that outlive their thread, and threads that free without ever having
// allocated:
//   - frees and allocations in thread_local destructors and in key destructors,
//     also in the last round of them,
//   - in atexit handlers and destructors of global objects,
//   - blocks of threads that ended, freed by others and used again,
//   - thread_ends THREADS creations in all (default 100,000).
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "public_names.hpp"

namespace {

constexpr std::size_t block_bytes = 3001;

void* make() {
  void* block = std::malloc(block_bytes);
  REQUIRE(block != nullptr);
  std::memset(block, 0x3C, block_bytes);
  return block;
}

void check_and_free(void* block) {
  const auto* bytes = static_cast<unsigned char*>(block);
  for (std::size_t i = 0; i < block_bytes; i += 100) REQUIRE(bytes[i] == 0x3C);
  std::free(block);
}

struct FreesAtThreadEnd {
  void* block = make();
  ~FreesAtThreadEnd() {
    check_and_free(block);
    check_and_free(make());
    std::free(std::realloc(std::malloc(100), 100000));
  }
};

pthread_key_t late_key;
std::atomic<int> rounds_seen = 0;

// Sets itself anew until the last round.
void late_destructor(void* value) {
  check_and_free(value);
  check_and_free(make());
  rounds_seen.fetch_add(1);
  void* next = make();
  pthread_setspecific(late_key, next);
  // The value set in the last round has nobody to free it.
}

void run_with_destructors() {
  thread_local FreesAtThreadEnd held;
  check_and_free(make());
  REQUIRE(held.block != nullptr);
  pthread_setspecific(late_key, make());
}

void check_destructors() {
  REQUIRE(pthread_key_create(&late_key, late_destructor) == 0);
  constexpr int threads = 200;
  for (int i = 0; i < threads; ++i) std::thread(run_with_destructors).join();
  REQUIRE(rounds_seen.load() >= threads);
  REQUIRE(pthread_key_delete(late_key) == 0);
  // Many keys before the heap's own, so that its destructor is not first.
  pthread_key_t keys[100];
  for (auto& key : keys) REQUIRE(pthread_key_create(&key, [](void* value) { std::free(value); }) == 0);
  std::thread([&] {
    for (auto key : keys) pthread_setspecific(key, make());
  }).join();
  for (auto key : keys) pthread_key_delete(key);
}

// pthread_create allocates in the parent; the thread's first call is a free.
void* free_only(void* block) {
  check_and_free(block);
  return nullptr;
}

void check_free_only_threads() {
  for (int i = 0; i < 2000; ++i) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, nullptr, free_only, make()) == 0);
    REQUIRE(pthread_join(thread, nullptr) == 0);
  }
}

void check_orphans() {
  std::vector<void*> blocks(20000);
  for (int round = 0; round < 20; ++round) {
    std::thread([&] {
      for (auto& block : blocks) block = make();
    }).join();
    std::thread([&] {
      for (std::size_t i = round % 2; i < blocks.size(); i += 2) check_and_free(blocks[i]);
    }).join();
    for (std::size_t i = 1 - round % 2; i < blocks.size(); i += 2) check_and_free(blocks[i]);
  }
  require_valid();
}

void* live_shortly(void* block) {
  check_and_free(block);
  return make();
}

void check_many_creations(int total) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  constexpr int at_a_time = 8;
  pthread_t threads[at_a_time];
  for (int i = 0; i < total; i += at_a_time) {
    for (auto& thread : threads) REQUIRE(pthread_create(&thread, &attributes, live_shortly, make()) == 0);
    for (auto& thread : threads) {
      void* block = nullptr;
      REQUIRE(pthread_join(thread, &block) == 0);
      check_and_free(block);
    }
  }
  pthread_attr_destroy(&attributes);
}

struct FreesAtExit {
  void* block = make();
  ~FreesAtExit() {
    check_and_free(block);
    check_and_free(make());
    say("destructor of a global\n");
  }
} global;

void at_exit() {
  check_and_free(make());
  say("atexit\n");
}

long peak_kilobytes() {
  FILE* status = std::fopen("/proc/self/status", "r");
  char line[200];
  long found = 0;
  while (std::fgets(line, sizeof line, status) != nullptr) {
    if (std::sscanf(line, "VmHWM: %ld", &found) == 1) break;
  }
  std::fclose(status);
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  REQUIRE(std::atexit(at_exit) == 0);
  const int creations = argc > 1 ? std::atoi(argv[1]) : 100'000;
  check_destructors();
  check_free_only_threads();
  check_orphans();
  check_many_creations(2000);
  const long before = peak_kilobytes();
  check_many_creations(creations);
  // Threads that ended leave nothing behind that grows with their number.
  say("note peak_kilobytes %ld before %ld\n", peak_kilobytes(), before);
  REQUIRE(peak_kilobytes() < before + 8192);
  require_valid();
  say("done\n");
  return 0;
}
