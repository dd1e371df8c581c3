// SPDX-License-Identifier: MIT
// Small uses of arenas: a scope of three allocations, large blocks whose size
// changes, and cycles that need little. All libraries in one program, which
// runs its rows in random order. "std" is new and delete.
#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <heapwright/arena.hpp>
#include <memory_resource>
#include <new>
#include <vector>

namespace {

constexpr std::array<std::size_t, 3> scope_bytes = {40, 200, 24};

// Three allocations that end with a scope.
void scope_std(benchmark::State& state) {
  for (auto _ : state) {
    std::array<void*, scope_bytes.size()> given;
    for (std::size_t i = 0; i < given.size(); ++i) given[i] = ::operator new(scope_bytes[i]);
    benchmark::DoNotOptimize(given.data());
    benchmark::ClobberMemory();
    for (void* block : given) ::operator delete(block);
  }
}
void scope_heapwright(benchmark::State& state) {
  for (auto _ : state) {
    const heapwright::scratch scope;
    for (const std::size_t bytes : scope_bytes) benchmark::DoNotOptimize(scope->allocate(bytes));
    benchmark::ClobberMemory();
  }
}
void scope_pmr(benchmark::State& state) {  // with room of its own on the stack, as its users do
  for (auto _ : state) {
    alignas(std::max_align_t) std::array<std::byte, 1024> room;
    std::pmr::monotonic_buffer_resource scope(room.data(), room.size());
    for (const std::size_t bytes : scope_bytes) benchmark::DoNotOptimize(scope.allocate(bytes));
    benchmark::ClobberMemory();
  }
}

// 8,000 large blocks of one size were used before; each cycle takes 100 of another size.
constexpr std::size_t earlier_blocks = 8000;
constexpr std::size_t later_blocks = 100;
constexpr std::size_t earlier_bytes = 20000;
constexpr std::size_t later_bytes = 30000;

template <class Memory>
void large_blocks(benchmark::State& state) {
  Memory memory;
  for (std::size_t i = 0; i < earlier_blocks; ++i) memory.allocate(earlier_bytes);
  memory.end();
  for (auto _ : state) {
    for (std::size_t i = 0; i < later_blocks; ++i) benchmark::DoNotOptimize(memory.allocate(later_bytes));
    memory.end();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(later_blocks));
}

// Cycles of one allocation of 2,000 bytes: less than half of an arena's first block.
template <class Memory>
void small_cycle(benchmark::State& state) {
  Memory memory;
  for (auto _ : state) {
    benchmark::DoNotOptimize(memory.allocate(2000));
    memory.end();
  }
}

struct std_ {
  std::vector<void*> given;
  void* allocate(std::size_t bytes) { return given.emplace_back(::operator new(bytes)); }
  void end() {
    for (void* block : given) ::operator delete(block);
    given.clear();
  }
};
struct heapwright_ {
  heapwright::arena arena;
  void* allocate(std::size_t bytes) { return arena.allocate(bytes); }
  void end() { arena.reset(); }
};
struct pmr_ {
  std::pmr::monotonic_buffer_resource resource;
  void* allocate(std::size_t bytes) { return resource.allocate(bytes); }
  void end() { resource.release(); }
};

// Each row's time is per item; where nothing else is said, of one iteration.
void add(const char* name, void (*run)(benchmark::State&)) {
  benchmark::RegisterBenchmark(name, [run](benchmark::State& state) {
    run(state);
    if (state.items_processed() == 0) state.SetItemsProcessed(state.iterations());
  });
}

}  // namespace

int main(int count, char** arguments) {
  add("scope_of_3/std", &scope_std);
  add("scope_of_3/heapwright", &scope_heapwright);
  add("scope_of_3/pmr", &scope_pmr);
  add("large_of_another_size/std", &large_blocks<std_>);
  add("large_of_another_size/heapwright", &large_blocks<heapwright_>);
  add("large_of_another_size/pmr", &large_blocks<pmr_>);
  add("small_cycle/std", &small_cycle<std_>);
  add("small_cycle/heapwright", &small_cycle<heapwright_>);
  add("small_cycle/pmr", &small_cycle<pmr_>);
  benchmark::Initialize(&count, arguments);
  benchmark::RunSpecifiedBenchmarks();
}
