// SPDX-License-Identifier: MIT
// How much memory is with a process where one thread makes blocks and sleeps, and others free them:
//   other_thread MEGABYTES BYTES NEXT_BYTES
// One makes so many megabytes of blocks and sleeps; a second frees them all and makes as much of the next
// size; a third frees these. Prints resident KiB when the first has made its own, when the second has freed
// them, when it has made its own, and 0, 2, 5 and 10 s after the third freed those; then ms that the
// second took to free and to make.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "resident.hpp"

namespace {

using Clock = std::chrono::steady_clock;

void make(std::vector<void*>& blocks, std::size_t bytes, std::size_t megabytes) {
  blocks.resize(megabytes * 1'000'000 / bytes);
  for (void*& block : blocks) {
    block = std::malloc(bytes);
    std::memset(block, 1, bytes);
  }
}

void free_all(const std::vector<void*>& blocks) {
  for (void* block : blocks) std::free(block);
}

long since_ms(Clock::time_point begin) {
  return static_cast<long>(
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count());
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 4) return 2;
  const std::size_t megabytes = std::strtoul(arguments[1], nullptr, 10);
  const std::size_t bytes = std::strtoul(arguments[2], nullptr, 10);
  const std::size_t next_bytes = std::strtoul(arguments[3], nullptr, 10);
  std::vector<void*> blocks(megabytes * 1'000'000 / std::min(bytes, next_bytes));
  std::atomic<bool> is_made{false};
  std::atomic<bool> is_over{false};
  std::thread first([&] {
    make(blocks, bytes, megabytes);
    is_made = true;
    is_made.notify_all();
    is_over.wait(false);
  });
  is_made.wait(false);
  std::printf("%ld", resident_kib());
  long free_ms = 0;
  long make_ms = 0;
  std::atomic<bool> is_next_made{false};
  std::thread second([&] {
    auto begin = Clock::now();
    free_all(blocks);
    free_ms = since_ms(begin);
    std::printf(" %ld", resident_kib());
    begin = Clock::now();
    make(blocks, next_bytes, megabytes);
    make_ms = since_ms(begin);
    std::printf(" %ld", resident_kib());
    is_next_made = true;
    is_next_made.notify_all();
    is_over.wait(false);
  });
  is_next_made.wait(false);
  std::thread([&] { free_all(blocks); }).join();
  std::printf(" %ld", resident_kib());
  for (const unsigned pause_s : {2, 3, 5}) {
    sleep(pause_s);
    std::printf(" %ld", resident_kib());
  }
  std::printf(" %ld %ld\n", free_ms, make_ms);
  is_over = true;
  is_over.notify_all();
  first.join();
  second.join();
  return 0;
}
