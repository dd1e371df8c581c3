// SPDX-License-Identifier: MIT
// A thread makes 100 MB of small blocks and sleeps, another frees them all: what is made next, by that one
// or by a third, takes their place, and what nobody needs goes back to the system.
//   other_thread CALLS    CALLS: slow calls go on meanwhile, else the process is silent
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "public_names.hpp"

namespace {

constexpr std::size_t block_bytes = 1000;
constexpr std::size_t block_count = 100'000;

long resident_kib() {
  long size = 0;
  long resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  REQUIRE(file != nullptr && std::fscanf(file, "%ld %ld", &size, &resident) == 2);
  std::fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

void make(std::vector<char*>& blocks, std::size_t bytes) {
  blocks.resize(block_count);
  for (char*& block : blocks) {
    block = static_cast<char*>(std::malloc(bytes));
    std::memset(block, 1, bytes);
  }
}

void free_all(std::vector<char*>& blocks) {
  for (char* block : blocks) std::free(block);
  blocks.clear();
}

void call_slowly() {
  std::vector<void*> made(2'000);
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = keep(std::malloc(16 + i * 37 % 900));
  for (void* block : made) std::free(block);
}

}  // namespace

int main(int argument_count, char** arguments) {
  const bool makes_calls = argument_count == 2 && std::string_view(arguments[1]) == "calls";
  std::vector<char*> blocks;
  std::atomic<int> step{0};
  std::thread owner([&] {
    make(blocks, block_bytes);
    step = 1;
    step.notify_all();
    step.wait(1);
  });
  step.wait(0);
  const long made_kib = resident_kib();
  std::thread([&] {
    free_all(blocks);
    make(blocks, block_bytes);
    REQUIRE(resident_kib() < made_kib + made_kib * 15 / 100);
    free_all(blocks);
  }).join();
  std::thread([&] {
    make(blocks, block_bytes / 2);
    free_all(blocks);
    make(blocks, block_bytes);
  }).join();
  REQUIRE(resident_kib() < made_kib + made_kib * 15 / 100);
  std::thread sleeper([&] {
    free_all(blocks);
    for (int i = 0; makes_calls && i < 200; ++i) {
      usleep(20'000);
      call_slowly();
    }
    step.wait(1);
  });
  if (!makes_calls) usleep(3'000'000);
  for (int i = 0; makes_calls && i < 210; ++i) usleep(20'000);
  // Calls give back 16 MiB a second.
  REQUIRE(resident_kib() < (makes_calls ? made_kib / 4 * 3 : made_kib / 4));
  step = 2;
  step.notify_all();
  sleeper.join();
  owner.join();
  require_valid();
  say("done\n");
  return 0;
}
