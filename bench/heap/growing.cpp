// SPDX-License-Identifier: MIT
// Peak memory of buffers that grow by realloc and are seldom full:
//   growing HUGE_PAGES MOST_KIB
// 3,000 buffers, 300 alive, each filled up to a random length of 64 KiB up to twice the most, in doubling
// capacities. The first word is the heap's setting. Prints peak KiB of what is filled, peak resident KiB, and
// page faults.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

namespace {

struct Buffer {
  char* begin = nullptr;
  std::size_t used = 0;
  std::size_t capacity = 0;
};

void fill(Buffer& buffer, std::size_t length) {
  constexpr std::size_t step = 4000;
  for (; buffer.used < length; buffer.used += step) {
    if (buffer.used + step > buffer.capacity) {
      buffer.capacity = std::max<std::size_t>(2 * buffer.capacity, 16'384);
      buffer.begin = static_cast<char*>(std::realloc(buffer.begin, buffer.capacity));
    }
    std::memset(buffer.begin + buffer.used, 1, step);
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count < 3) return 2;
  if (argument_count == 3) {
    setenv("HEAPWRIGHT_HEAP_HUGE_PAGES", arguments[1], 1);
    execl("/proc/self/exe", arguments[0], arguments[1], arguments[2], "set", nullptr);
    return 1;
  }
  const std::size_t most = std::strtoul(arguments[2], nullptr, 10) * 1024;
  std::mt19937 random(1);
  std::array<Buffer, 300> buffers{};
  std::size_t filled = 0;
  std::size_t most_filled = 0;
  for (int i = 0; i < 3000; ++i) {
    Buffer& buffer = buffers[random() % buffers.size()];
    filled -= buffer.used;
    std::free(buffer.begin);
    buffer = {};
    const std::size_t least = std::min(std::size_t{65'536} << random() % 7, most);
    fill(buffer, least + random() % least);
    filled += buffer.used;
    most_filled = std::max(most_filled, filled);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%zu %ld %ld\n", most_filled / 1024, usage.ru_maxrss, usage.ru_minflt);
  return 0;
}
