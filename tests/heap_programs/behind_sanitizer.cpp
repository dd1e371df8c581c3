// SPDX-License-Identifier: MIT
// The heap behind a sanitizer's malloc: the model in several threads, and
// threads that free each other's blocks, from the threads' own caches and from
// a private heap. What a block holds is written and read without atomics,
// so that ThreadSanitizer sees whether the heap orders its two lives.
#include <atomic>
#include <thread>
#include <vector>

#include "heap_functions.hpp"
#include "test_seed.hpp"

namespace {

constexpr std::size_t slot_count = 300;
std::atomic<unsigned char*> slots[slot_count];

const heap_model::Functions& heap = heap_model::heap_functions;

std::size_t draw_bytes(heap_model::SeededChoices& choices) {
  if (choices.draw(100) == 0) return 70000 + choices.draw(300000);
  return choices.draw(10) == 0 ? 8 + choices.draw(20000) : 8 + choices.draw(400);
}

void exchange(heapwright_heap* own, std::uint64_t seed, int steps) {
  heap_model::SeededChoices choices(seed);
  for (int i = 0; i < steps; ++i) {
    const std::size_t bytes = draw_bytes(choices);
    void* memory = i % 3 == 0 ? heap.allocate_in(own, bytes, 16) : heap.allocate(bytes);
    auto* block = static_cast<unsigned char*>(memory);
    if (block == nullptr) heap_model::fail("no memory", static_cast<std::size_t>(i));
    block[0] = 1;
    block[bytes - 1] = 1;
    unsigned char* old = slots[choices.draw(slot_count)].exchange(block, std::memory_order_acq_rel);
    if (old == nullptr) continue;
    if (old[0] != 1) heap_model::fail("content of a live block changed", static_cast<std::size_t>(i));
    old[0] = 2;
    heap.release(old);
    if (i % 500 == 0) heap.maintain(20);
  }
}

void run_model(std::uint64_t seed) {
  heap_model::Model model(heap, heap_model::SeededChoices(seed));
  model.run(3000);
}

void run_generation(std::uint64_t generation) {
  heapwright_heap* own = heap.create_heap("exchange");
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 3; ++i) threads.emplace_back(exchange, own, generation * 10 + i, 4000);
  threads.emplace_back(run_model, generation);
  threads.emplace_back(run_model, generation + 1000);
  for (auto& thread : threads) thread.join();
  for (auto& slot : slots) {
    if (unsigned char* block = slot.exchange(nullptr)) heap.release(block);
  }
  heap.destroy_heap(own);
  if (heap.is_valid() == 0) heap_model::fail("the heap's records disagree", generation);
}

}  // namespace

int main() {
  const std::uint64_t seed = test_seed() % 1'000'000'000;
  std::printf("note seed %llu\n", static_cast<unsigned long long>(seed));
  for (std::uint64_t generation = 0; generation < 8; ++generation) run_generation(seed + generation);
  std::puts("done");
  return 0;
}
