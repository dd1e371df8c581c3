// SPDX-License-Identifier: MIT
// handover BLOCKS: how long a cache line takes from one CPU to the other, and right after that how long a
// block takes from a thread that makes it to one that frees it. Prints "LINE_NS BLOCK_NS".
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

void stay_on(unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

// The least of five, one way: each thread waits for the other's number and writes the next one.
double line_ns() {
  constexpr int rounds = 50'000;
  alignas(128) static std::atomic<int> line;
  double least = 1e9;
  for (int run = 0; run < 5; ++run) {
    line = 0;
    std::thread other([] {
      stay_on(1);
      for (int i = 0; i < rounds; ++i) {
        while (line.load(std::memory_order_acquire) != 2 * i + 1) {
        }
        line.store(2 * i + 2, std::memory_order_release);
      }
    });
    const auto begin = Clock::now();
    for (int i = 0; i < rounds; ++i) {
      line.store(2 * i + 1, std::memory_order_release);
      while (line.load(std::memory_order_acquire) != 2 * i + 2) {
      }
    }
    least = std::min(least, ns_since(begin) / (2.0 * rounds));
    other.join();
  }
  return least;
}

constexpr std::size_t places = 256;
constexpr std::size_t batch = 64;  // so that the ring itself costs a line per batch
std::array<void*, places> ring;
alignas(128) std::atomic<std::size_t> written;
alignas(128) std::atomic<std::size_t> taken;

double block_ns(std::size_t blocks) {
  std::thread consumer([blocks] {
    stay_on(1);
    for (std::size_t at = 0; at < blocks; at += batch) {
      while (written.load(std::memory_order_acquire) == at) {
      }
      for (std::size_t i = at; i < at + batch; ++i) std::free(ring[i % places]);
      taken.store(at + batch, std::memory_order_release);
    }
  });
  const auto begin = Clock::now();
  for (std::size_t at = 0; at < blocks; at += batch) {
    while (at + batch - taken.load(std::memory_order_acquire) > places) {
    }
    for (std::size_t i = at; i < at + batch; ++i) {
      ring[i % places] = std::malloc(16 + i % 8 * 24);
      *static_cast<char*>(ring[i % places]) = 1;
    }
    written.store(at + batch, std::memory_order_release);
  }
  consumer.join();
  return ns_since(begin) / static_cast<double>(blocks);
}

}  // namespace

int main(int count, char** arguments) {
  const auto blocks = count > 1 ? std::strtoul(arguments[1], nullptr, 10) / batch * batch : 0;
  if (blocks == 0 || std::thread::hardware_concurrency() < 2) {
    std::fputs("usage: handover BLOCKS, with two CPUs\n", stderr);
    return 2;
  }
  stay_on(0);
  const double line = line_ns();
  std::printf("%.1f %.1f\n", line, block_ns(blocks));
}
