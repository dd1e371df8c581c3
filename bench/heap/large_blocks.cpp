// SPDX-License-Identifier: MIT
// Blocks of 1 to 32 MiB made, written and freed in turn, LIVE of them at a time.
//
//     large_blocks LIVE COUNT
//
// Prints seconds of CPU, page faults and the peak of resident memory in bytes.
#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  std::vector<void*> live(std::strtoul(arguments[1], nullptr, 10));
  const auto blocks = std::strtoul(arguments[2], nullptr, 10);
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < blocks; ++i) {
    void*& place = live[i % live.size()];
    std::free(place);
    const std::size_t bytes = (std::size_t{1} << 20) + random() % (std::size_t{31} << 20);
    place = std::malloc(bytes);
    if (place == nullptr) return 1;
    std::memset(place, 1, bytes);
  }
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::printf("%f %ld %ld\n", seconds(used.ru_utime) + seconds(used.ru_stime), used.ru_minflt,
              used.ru_maxrss * 1024);
}
