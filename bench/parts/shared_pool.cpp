// SPDX-License-Identifier: MIT
// One object with a vector of 16 numbers, taken, filled and given back, by one
// thread and by two. "std" makes and destroys it each time.
#include <benchmark/benchmark.h>

#include <heapwright/object_pool.hpp>
#include <heapwright/shared_object_pool.hpp>
#include <memory>
#include <string>
#include <vector>

namespace {

struct Message {
  std::vector<int> numbers;
  int kind = 0;
  static constexpr auto pool_members = heapwright::members(&Message::numbers);
};

void fill(Message& message) {
  message.numbers.resize(16);
  benchmark::DoNotOptimize(message.numbers.data());
}

void new_each_time(benchmark::State& state) {
  for (auto _ : state) fill(*std::make_unique<Message>());
  state.SetItemsProcessed(state.iterations());
}
void pool_of_one_thread(benchmark::State& state) {
  heapwright::object_pool<Message> pool({.max_idle = 256});
  for (auto _ : state) fill(*pool.acquire());
  state.SetItemsProcessed(state.iterations());
}
void pool_of_threads(benchmark::State& state) {
  static heapwright::shared_object_pool<Message> pool({.max_idle = 256});
  for (auto _ : state) fill(*pool.acquire());
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(new_each_time)->Name("one_thread/std");
BENCHMARK(pool_of_one_thread)->Name("one_thread/object_pool");
BENCHMARK(pool_of_threads)->Name("one_thread/shared_object_pool");
BENCHMARK(new_each_time)->Name("two_threads/std")->Threads(2);
BENCHMARK(pool_of_threads)->Name("two_threads/shared_object_pool")->Threads(2);

}  // namespace

BENCHMARK_MAIN();
