// SPDX-License-Identifier: MIT
// One object of 48 bytes, made and deleted, and 32 at a time; by one thread
// and by two. "std" is the global operator new.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <heapwright/class_heap.hpp>

namespace {

struct Plain {
  std::array<std::uint64_t, 6> words;
};
struct Own : heapwright::class_heap<Own> {
  std::array<std::uint64_t, 6> words;
};

template <class T>
void one_object(benchmark::State& state) {
  for (auto _ : state) {
    T* object = new T;
    benchmark::DoNotOptimize(object);
    delete object;
  }
  state.SetItemsProcessed(state.iterations());
}
template <class T>
void many_objects(benchmark::State& state) {
  std::array<T*, 32> objects{};
  for (auto _ : state) {
    for (T*& object : objects) object = new T;
    benchmark::DoNotOptimize(objects.data());
    for (T* object : objects) delete object;
  }
  state.SetItemsProcessed(state.iterations() * 32);
}

BENCHMARK(one_object<Plain>)->Name("class_one/std");
BENCHMARK(one_object<Own>)->Name("class_one/heapwright");
BENCHMARK(many_objects<Plain>)->Name("class_32/std");
BENCHMARK(many_objects<Own>)->Name("class_32/heapwright");
BENCHMARK(many_objects<Plain>)->Name("class_32_two_threads/std")->Threads(2);
BENCHMARK(many_objects<Own>)->Name("class_32_two_threads/heapwright")->Threads(2);

}  // namespace

BENCHMARK_MAIN();
