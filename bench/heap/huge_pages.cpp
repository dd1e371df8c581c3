// SPDX-License-Identifier: MIT
// 1 GiB of 64-byte blocks is filled and read at random; then all but one in 512 are freed, and calls go on:
//   huge_pages
// Prints the CPU seconds of filling and of 8 M reads, the MiB resident when full and three seconds after the
// frees, and the page faults.
#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "resident.hpp"

namespace {

constexpr std::size_t block_bytes = 64;
constexpr std::size_t blocks = (std::size_t{1} << 30) / block_bytes;
constexpr std::size_t reads = blocks / 2;
constexpr std::size_t kept = 512;

double cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

}  // namespace

int main() {
  std::vector<std::uint64_t*> made(blocks);
  double begin_s = cpu_s();
  for (std::size_t i = 0; i < blocks; ++i) {
    made[i] = static_cast<std::uint64_t*>(std::malloc(block_bytes));
    if (made[i] == nullptr) return 1;
    *made[i] = i;
  }
  const double fill_s = cpu_s() - begin_s;
  begin_s = cpu_s();
  std::uint64_t sum = 0;
  std::uint64_t random = 1;
  for (std::size_t i = 0; i < reads; ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    sum += *made[(random >> 20) % blocks];
  }
  const double read_s = cpu_s() - begin_s;
  const long full_mib = resident_kib() / 1024;
  for (std::size_t i = 0; i < blocks; ++i) {
    if (i % kept != 0) std::free(made[i]);
  }
  const std::time_t end = std::time(nullptr) + 4;
  for (std::size_t i = 0; std::time(nullptr) < end; ++i) std::free(std::malloc(16 + i % 2000));
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::printf("%.3f %.3f %ld %ld %ld %d\n", fill_s, read_s, full_mib, resident_kib() / 1024, used.ru_minflt,
              static_cast<int>(sum & 1));
  return 0;
}
