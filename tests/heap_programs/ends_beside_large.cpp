// SPDX-License-Identifier: MIT
// ends_beside_large ROUNDS: private heaps are taken apart on one thread while another makes large
// blocks of the same pages: a slab that was closed may be its block at once.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "heap_functions.hpp"

namespace {

const heap_model::Functions& heap_calls = heap_model::heap_functions;

constexpr int heaps_per_round = 4;
constexpr int blocks_held = 16;
constexpr std::size_t large_bytes = 66000;

std::atomic<bool> is_over{false};

void make_large_blocks() {
  unsigned char* blocks[blocks_held] = {};
  for (unsigned at = 0; !is_over.load(std::memory_order_relaxed); at = (at + 1) % blocks_held) {
    unsigned char*& block = blocks[at];
    if (block != nullptr && (block[0] != at || block[large_bytes - 1] != at)) std::abort();
    heap_calls.release(block);
    block = static_cast<unsigned char*>(heap_calls.allocate(large_bytes));
    if (block == nullptr) std::abort();
    block[0] = block[large_bytes - 1] = static_cast<unsigned char>(at);
  }
  for (unsigned char* block : blocks) heap_calls.release(block);
}

void end_heaps(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    heapwright_heap* heaps[heaps_per_round];
    for (auto*& heap : heaps) {
      heap = heap_calls.create_heap("short");
      if (heap == nullptr || heap_calls.allocate_in(heap, 20000, 16) == nullptr) std::abort();
    }
    for (auto* heap : heaps) heap_calls.destroy_heap(heap);
    heap_calls.maintain(100);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20000;
  std::thread other(make_large_blocks);
  end_heaps(rounds);
  is_over = true;
  other.join();
  if (heap_calls.is_valid() == 0) std::abort();
  std::puts("done");
}
