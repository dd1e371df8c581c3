// SPDX-License-Identifier: MIT
// Question: what does a malloc and a free of a small block cost?
//   pairs THREADS PAIRS   prints nanoseconds per pair and thread
// Each thread keeps 64 blocks of 8 to 512 bytes and replaces one after the
// other, oldest first: a free and a malloc of a size that is drawn beforehand.
// The first byte of each block is written.
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kept_blocks = 64;
constexpr std::size_t drawn_sizes = 1024;

double now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

std::array<std::size_t, drawn_sizes> draw_sizes(std::uint32_t random) {
  std::array<std::size_t, drawn_sizes> sizes{};
  for (std::size_t& size : sizes) {
    random = random * 1664525 + 1013904223;
    // Three of four are at most 64 bytes, as in most programs.
    size = 8 + (random >> 8) % (random >> 30 == 0 ? 505 : 57);
  }
  return sizes;
}

void pin(unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

double run_pairs(unsigned thread, std::uint64_t pairs, std::atomic<unsigned>& waiting) {
  pin(thread % std::max(1U, std::thread::hardware_concurrency()));
  const auto sizes = draw_sizes(thread + 1);
  std::array<void*, kept_blocks> blocks{};
  for (std::size_t i = 0; i < kept_blocks; ++i) blocks[i] = std::malloc(sizes[i]);
  waiting.fetch_sub(1);
  while (waiting.load(std::memory_order_acquire) != 0) {
  }
  const double start_ns = now_ns();
  for (std::uint64_t i = 0; i < pairs; ++i) {
    void*& block = blocks[i % kept_blocks];
    std::free(block);
    block = std::malloc(sizes[i % drawn_sizes]);
    *static_cast<volatile char*>(block) = 1;
  }
  const double elapsed_ns = now_ns() - start_ns;
  for (void* block : blocks) std::free(block);
  return elapsed_ns / static_cast<double>(pairs);
}

}  // namespace

int main(int argc, char** argv) {
  const auto thread_count = static_cast<unsigned>(argc > 1 ? std::atoi(argv[1]) : 1);
  const auto pairs = static_cast<std::uint64_t>(argc > 2 ? std::atoll(argv[2]) : 20'000'000);
  std::atomic<unsigned> waiting{thread_count};
  std::vector<double> ns(thread_count);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < thread_count; ++i) {
    threads.emplace_back([&, i] { ns[i] = run_pairs(i, pairs, waiting); });
  }
  for (auto& thread : threads) thread.join();
  double sum = 0;
  for (const double one : ns) sum += one;
  std::printf("{\"ns_per_pair\":%.4f}\n", sum / thread_count);
  return 0;
}
