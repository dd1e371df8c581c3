// SPDX-License-Identifier: MIT
// How much memory is with a process whose threads are many, and come and go:
//   many_threads THREADS MOST_BYTES ROUNDS
// In each round so many threads live at once. Each makes 400 blocks of up to 2,000 bytes, one in 16 of up to
// MOST_BYTES, the same ones in each round, and frees them. Prints, with all threads of the first round alive,
// KiB of private memory that may be written, 128 for each stack, and resident KiB; resident KiB with those of
// the last round alive, and 5 s after they ended.

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "resident.hpp"

namespace {

long writable_kib() {
  std::FILE* file = std::fopen("/proc/self/maps", "r");
  if (file == nullptr) std::abort();
  unsigned long kib = 0;
  char line[1024];
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    unsigned long begin = 0;
    unsigned long end = 0;
    char rights[5];
    if (std::sscanf(line, "%lx-%lx %4s", &begin, &end, rights) != 3) continue;
    if (rights[1] == 'w' && rights[3] == 'p') kib += (end - begin) / 1024;
  }
  std::fclose(file);
  return static_cast<long>(kib);
}

struct Found {
  long writable_kib;
  long resident_kib;
};

void work(unsigned seed, std::size_t most_bytes, std::barrier<>& all, Found* found) {
  std::array<void*, 400> blocks;
  unsigned random = seed;
  for (void*& block : blocks) {
    random = random * 1'103'515'245U + 12'345U;
    const std::size_t bytes = (random >> 8U) % (random % 16 == 0 ? most_bytes : 2000);
    block = std::malloc(bytes);
    std::memset(block, 1, bytes);
  }
  all.arrive_and_wait();
  if (found != nullptr) *found = {writable_kib(), resident_kib()};
  all.arrive_and_wait();
  for (void* block : blocks) std::free(block);
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 4) return 2;
  const auto thread_count = static_cast<unsigned>(std::strtoul(arguments[1], nullptr, 10));
  const std::size_t most_bytes = std::strtoul(arguments[2], nullptr, 10);
  const int rounds = std::atoi(arguments[3]);
  // Stacks are private memory that may be written, too: 8 MiB each by themselves.
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, std::size_t{128} << 10U);
  if (pthread_setattr_default_np(&small) != 0) return 1;
  Found first{};
  Found last{};
  for (int round = 0; round < rounds; ++round) {
    std::barrier<> all(thread_count);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < thread_count; ++i) {
      threads.emplace_back(work, i, most_bytes, std::ref(all), i == 0 ? &last : nullptr);
    }
    for (std::thread& thread : threads) thread.join();
    if (round == 0) first = last;
  }
  sleep(5);
  std::printf("%ld %ld %ld %ld\n", first.writable_kib, first.resident_kib, last.resident_kib, resident_kib());
  return 0;
}
