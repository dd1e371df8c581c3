// SPDX-License-Identifier: MIT
// How much memory a program holds whose blocks grow:
//   ratchet SIZES STEP MEGABYTES KEEP
// So many sizes, each STEP bytes above the last one: makes so many megabytes of blocks of each and frees all
// but one of KEEP, at random. Prints KiB: what lives at the end, the largest resident and the last one; then
// ms of CPU time.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "resident.hpp"

namespace {

long ms_of(const timeval& time) { return time.tv_sec * 1000 + time.tv_usec / 1000; }

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 5) return 2;
  std::size_t numbers[4];
  for (int i = 0; i < 4; ++i) numbers[i] = std::strtoul(arguments[i + 1], nullptr, 10);
  const auto [sizes, step, megabytes, keep] = numbers;
  std::minstd_rand random(7);
  std::vector<void*> blocks;
  blocks.reserve(megabytes * 1'000'000 / step);
  std::size_t live = 0;
  for (std::size_t bytes = step; bytes <= sizes * step; bytes += step) {
    blocks.clear();
    for (std::size_t made = 0; made < megabytes * 1'000'000; made += bytes) {
      blocks.push_back(std::memset(std::malloc(bytes), 1, bytes));
    }
    for (void* block : blocks) {
      if (random() % keep != 0) {
        std::free(block);
      } else {
        live += bytes;
      }
    }
  }
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::printf("%zu %ld %ld %ld\n", live / 1024, used.ru_maxrss, resident_kib(),
              ms_of(used.ru_utime) + ms_of(used.ru_stime));
  return 0;
}
