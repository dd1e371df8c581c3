// SPDX-License-Identifier: MIT
// waits THREADS SECONDS MEBIBYTES: how long mmap and munmap take while somebody looks at this program's
// pages. So many MiB are touched and stay; each thread maps 64 KiB, touches it and unmaps it, over and over.
// Says for each of mmap and munmap the calls, the 50th, 99th and 99.9th percentile and the longest, in ns.
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t mapped_bytes = 64 << 10;

std::uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

struct Times {
  std::vector<std::uint32_t> mmap_ns;
  std::vector<std::uint32_t> munmap_ns;
};

void* map(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::exit(1);
  return memory;
}

void map_and_unmap(std::uint64_t until_ns, Times& times) {
  for (std::uint64_t begin_ns = now_ns(); begin_ns < until_ns; begin_ns = now_ns()) {
    void* const memory = map(mapped_bytes);
    times.mmap_ns.push_back(static_cast<std::uint32_t>(now_ns() - begin_ns));
    std::memset(memory, 1, mapped_bytes);
    const std::uint64_t end_ns = now_ns();
    munmap(memory, mapped_bytes);
    times.munmap_ns.push_back(static_cast<std::uint32_t>(now_ns() - end_ns));
  }
}

void say(const char* word, std::vector<std::uint32_t> all) {
  std::sort(all.begin(), all.end());
  const auto at = [&all](double share) {
    return all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))];
  };
  std::printf("%s %zu %u %u %u %u\n", word, all.size(), at(0.5), at(0.99), at(0.999), all.back());
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) return 2;
  const int threads = std::atoi(arguments[1]);
  const std::uint64_t seconds = std::strtoull(arguments[2], nullptr, 10);
  const std::size_t bytes = std::strtoull(arguments[3], nullptr, 10) << 20;
  void* const held = map(bytes);
  madvise(held, bytes, MADV_NOHUGEPAGE);
  std::memset(held, 1, bytes);
  std::vector<Times> times(static_cast<std::size_t>(threads));
  std::vector<std::thread> running;
  const std::uint64_t until_ns = now_ns() + seconds * 1'000'000'000;
  for (Times& own : times) running.emplace_back(map_and_unmap, until_ns, std::ref(own));
  for (std::thread& thread : running) thread.join();
  Times all;
  for (const Times& own : times) {
    all.mmap_ns.insert(all.mmap_ns.end(), own.mmap_ns.begin(), own.mmap_ns.end());
    all.munmap_ns.insert(all.munmap_ns.end(), own.munmap_ns.begin(), own.munmap_ns.end());
  }
  say("mmap", all.mmap_ns);
  say("munmap", all.munmap_ns);
  return 0;
}
