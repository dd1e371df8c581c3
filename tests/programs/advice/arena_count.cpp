// SPDX-License-Identifier: MIT
// Threads that each build much and keep one block; the rest is free in their arenas. Prints what is resident
// then.
#include <malloc.h>
#include <unistd.h>

#include <barrier>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "modes.hpp"

namespace {

constexpr int threads = 4;
constexpr std::size_t blocks = 8'000;
constexpr std::size_t block_bytes = 1'000;

std::unique_ptr<char[]> kept[threads];

[[gnu::noinline]] std::unique_ptr<char[]> site() {
  std::unique_ptr<char[]> block(new char[block_bytes]);
  std::memset(block.get(), 1, block_bytes);
  return block;
}

long resident_pages() {
  long all = 0;
  long pages = 0;
  if (auto* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &all, &pages) != 2) pages = 0;
    std::fclose(file);
  }
  return pages;
}

// One after the other, none ends before all have run. `keeps`: all blocks live to the end.
void work(bool keeps) {
  std::vector<std::thread> running;
  std::barrier done(threads + 1);
  for (int number = 0; number < threads; ++number) {
    running.emplace_back([&done, number, keeps] {
      usleep(static_cast<useconds_t>(number) * 30'000);
      std::vector<std::unique_ptr<char[]>> held(blocks);
      for (auto& block : held) block = site();
      kept[number] = std::move(held.back());
      if (!keeps) held.clear();
      done.arrive_and_wait();
      done.arrive_and_wait();
    });
  }
  done.arrive_and_wait();
  usleep(400'000);
  modes::say("resident_bytes", static_cast<std::uint64_t>(resident_pages()) * 4096);
  done.arrive_and_wait();
  for (auto& thread : running) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
  return modes::run(
      argc, argv, [] { work(false); },
      [] {
        mallopt(M_ARENA_MAX, 1);
        work(false);
      },
      [] { work(true); });
}
