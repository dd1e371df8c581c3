// SPDX-License-Identifier: MIT
// A program that works in bursts gives back what one that always works does: the calls of a burst do what was
// due in the time before it. Run with HEAPWRIGHT_HEAP_MAINTENANCE=calls.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "public_names.hpp"

namespace {

long resident_kib() {
  long size = 0;
  long resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  REQUIRE(file != nullptr && std::fscanf(file, "%ld %ld", &size, &resident) == 2);
  std::fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

void burst() {
  std::vector<void*> made(20'000);
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = keep(std::malloc(16 + i * 37 % 900));
  for (void* block : made) std::free(block);
}

}  // namespace

int main() {
  std::vector<void*> blocks(200'000);
  for (void*& block : blocks) {
    block = std::malloc(1000);
    std::memset(block, 1, 1000);
  }
  burst();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i % 64 >= 6) std::free(blocks[i]);
  }
  const long before_kib = resident_kib();
  // Often enough that a burst's own memory is never due.
  for (int i = 0; i < 30; ++i) {
    usleep(100'000);
    burst();
  }
  // 25 pieces of up to 64 KiB in 100 ms; one each burst would be 2 MiB.
  REQUIRE(before_kib - resident_kib() > 8 * 1024);
  say("done\n");
  return 0;
}
