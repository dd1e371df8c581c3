// SPDX-License-Identifier: MIT
// replayed_loads staggered|quarter|chains: heaps that a replay gets wrong when it leaves something out. The
// last state stays for a while, so that its memory is read.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t mebi = std::size_t{1} << 20U;

void stay() { std::this_thread::sleep_for(std::chrono::milliseconds(60)); }

void* filled(std::size_t bytes) {
  void* block = std::malloc(bytes);
  std::memset(block, 1, bytes);
  return block;
}

// Each thread holds 8 MiB while the others hold little.
void hold_in_turn() {
  for (int turn = 0; turn < 4; ++turn) {
    std::thread([] {
      std::vector<void*> blocks;
      for (std::size_t bytes = 0; bytes < 8 * mebi; bytes += 1000) blocks.push_back(filled(1000));
      stay();
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (i % 8 != 0) std::free(blocks[i]);
      }
      stay();
    }).join();
  }
}

// 40 blocks of 1 MiB, of which a quarter is written.
void touch_a_quarter() {
  for (int i = 0; i < 40; ++i) std::memset(std::malloc(mebi), 1, mebi / 4);
}

void grow_by_realloc() {
  for (int chain = 0; chain < 50; ++chain) {
    char* block = nullptr;
    for (std::size_t bytes = 1000; bytes < mebi / 2; bytes += bytes / 2) {
      block = static_cast<char*>(std::realloc(block, bytes));
      std::memset(block, 1, bytes);
      std::free(filled(700));
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view load = count > 1 ? arguments[1] : "";
  stay();
  if (load == "staggered") hold_in_turn();
  if (load == "quarter") touch_a_quarter();
  if (load == "chains") grow_by_realloc();
  stay();
}
