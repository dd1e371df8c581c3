// SPDX-License-Identifier: MIT
// Blocks above 64 KiB made and freed in turn, eight of them at a time.
//
//     guard_cost BYTES COUNT WRITTEN
//
// WRITTEN: of each block, from its begin on. Prints seconds of CPU, page faults and the peak of resident
// memory in bytes.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// Of this program alone, which getrusage() does not tell from what ran here before.
long peak_kib() {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  if (file == nullptr) return 0;
  char line[256];
  long kib = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) std::sscanf(line, "VmHWM: %ld", &kib);
  std::fclose(file);
  return kib;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const auto bytes = std::strtoul(arguments[1], nullptr, 10);
  const auto blocks = std::strtoul(arguments[2], nullptr, 10);
  const auto written = std::strtoul(arguments[3], nullptr, 10);
  void* live[8] = {};
  for (unsigned long i = 0; i < blocks; ++i) {
    void*& place = live[i % 8];
    std::free(place);
    place = std::malloc(bytes);
    if (place == nullptr) return 1;
    std::memset(place, 1, written);
  }
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::printf("%f %ld %ld\n", seconds(used.ru_utime) + seconds(used.ru_stime), used.ru_minflt,
              peak_kib() * 1024);
}
