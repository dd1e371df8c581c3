// SPDX-License-Identifier: MIT
// Compares the heap with a reference model, in several threads at once:
//   model SEEDS STEPS THREADS   the same seed does the same, with one thread
#include <malloc.h>

#include <thread>
#include <vector>

#include "heap_model.hpp"
#include "public_names.hpp"
#include "test_seed.hpp"

namespace {

constexpr heap_model::Functions functions{
    .allocate = [](std::size_t bytes) { return std::malloc(bytes); },
    .allocate_zeroed = [](std::size_t bytes) { return std::calloc(1, bytes); },
    .allocate_aligned =
        [](std::size_t bytes, std::size_t alignment) {
          void* block = nullptr;
          return posix_memalign(&block, alignment, bytes) == 0 ? block : nullptr;
        },
    .reallocate = [](void* block, std::size_t bytes) { return std::realloc(block, bytes); },
    .release = [](void* block) { std::free(block); },
    .release_sized =
        [](void* block, std::size_t bytes, std::size_t alignment) {
          if (alignment > 16) return free_aligned_sized_or_free(block, alignment, bytes);
          free_sized_or_free(block, bytes);
        },
    .usable_bytes = [](void* block) { return malloc_usable_size(block); },
    .create_heap = nullptr,
    .allocate_in = nullptr,
    .release_in = nullptr,
    .destroy_heap = nullptr,
    .get_statistics = nullptr,
    .maintain = nullptr,
    .is_valid = nullptr,
};

heap_model::Functions all_functions() {
  heap_model::Functions all = functions;
  if (!is_preloaded()) return all;
  all.create_heap = heapwright_heap_create;
  all.allocate_in = heapwright_heap_allocate;
  all.release_in = heapwright_heap_free;
  all.destroy_heap = heapwright_heap_destroy;
  all.get_statistics = heapwright_heap_get_statistics;
  all.maintain = heapwright_heap_maintain;
  return all;
}

void run(std::uint64_t seed, std::size_t steps) {
  heap_model::Model model(all_functions(), heap_model::SeededChoices(seed));
  model.run(steps);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t seeds = argc > 1 ? static_cast<std::uint64_t>(std::atoll(argv[1])) : 10;
  const std::size_t steps = argc > 2 ? static_cast<std::size_t>(std::atoll(argv[2])) : 20000;
  const std::size_t thread_count = argc > 3 ? static_cast<std::size_t>(std::atoi(argv[3])) : 1;
  const std::uint64_t first = test_seed();
  say("note seed %llu\n", static_cast<unsigned long long>(first));
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < thread_count; ++i) threads.emplace_back(run, seed * 100 + i, steps);
    run(seed * 100, steps);
    for (auto& thread : threads) thread.join();
    require_valid();
  }
  say("done\n");
  return 0;
}
