// SPDX-License-Identifier: MIT
// One library per build: -DLIBRARY_<name>; the same work for each vector.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#if defined(LIBRARY_std)
template <class T, unsigned N>
using Vector = std::vector<T>;
#elif defined(LIBRARY_heapwright)
#include <heapwright/small_vector.hpp>
template <class T, unsigned N>
using Vector = heapwright::small_vector<T, N>;
#elif defined(LIBRARY_heapwright_compact)
#include <heapwright/small_vector.hpp>
template <class T, unsigned N>
using Vector = heapwright::compact_vector<T, N>;
#elif defined(LIBRARY_boost)
#include <boost/container/small_vector.hpp>
template <class T, unsigned N>
using Vector = boost::container::small_vector<T, N>;
#elif defined(LIBRARY_abseil)
#include <absl/container/inlined_vector.h>
template <class T, unsigned N>
using Vector = absl::InlinedVector<T, N>;
#elif defined(LIBRARY_llvm)
#include <llvm/ADT/SmallVector.h>
template <class T, unsigned N>
using Vector = llvm::SmallVector<T, N>;
#endif

namespace {

using Number = std::uint64_t;

// Half of the vectors stay empty, 49 % get one element, 1 % eight.
void fill_mostly_small(benchmark::State& state) {
  std::vector<unsigned char> lengths(1000);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    lengths[i] = i % 100 == 99 ? 8 : static_cast<unsigned char>(i % 2);
  }
  std::shuffle(lengths.begin(), lengths.end(), std::mt19937(1));
  for (auto _ : state) {
    std::vector<Vector<Number, 1>> all(lengths.size());
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      for (unsigned n = 0; n < lengths[i]; ++n) all[i].push_back(n);
    }
    benchmark::DoNotOptimize(all.data());
  }
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(fill_mostly_small);

template <class T, unsigned N, int Count>
void build(benchmark::State& state) {
  for (auto _ : state) {
    Vector<T, N> vector;
    for (int i = 0; i < Count; ++i) vector.push_back(static_cast<T>(i));
    benchmark::DoNotOptimize(vector.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * Count);
}
BENCHMARK(build<Number, 7, 7>)->Name("build_7_inline");
BENCHMARK(build<Number, 4, 1000>)->Name("push_back_1000");
BENCHMARK(build<std::uint8_t, 7, 1000>)->Name("push_back_1000_bytes");

void random_index(benchmark::State& state) {
  Vector<Number, 4> vector;
  for (Number i = 0; i < 1024; ++i) vector.push_back(i * 7919 % 1024);
  benchmark::DoNotOptimize(vector);
  for (auto _ : state) {
    Number at = 1;
    for (int i = 0; i < 1000; ++i) at = (vector[at] + static_cast<Number>(i)) % 1024;
    benchmark::DoNotOptimize(at);
  }
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(random_index);

void sum_inline(benchmark::State& state) {
  std::vector<Vector<Number, 4>> all(1000);
  for (auto& vector : all) {
    for (Number i = 0; i < 3; ++i) vector.push_back(i);
  }
  for (auto _ : state) {
    Number sum = 0;
    for (const auto& vector : all) {
      for (const Number n : vector) sum += n;
    }
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * 3000);
}
BENCHMARK(sum_inline);

void move_inline(benchmark::State& state) {
  Vector<Number, 4> a;
  for (Number i = 0; i < 4; ++i) a.push_back(i);
  for (auto _ : state) {
    Vector<Number, 4> b(std::move(a));
    benchmark::DoNotOptimize(b);
    a = std::move(b);
    benchmark::DoNotOptimize(a);
  }
  state.SetItemsProcessed(state.iterations() * 2);
}
BENCHMARK(move_inline);

void insert_front_strings(benchmark::State& state) {
  for (auto _ : state) {
    Vector<std::string, 4> vector;
    for (int i = 0; i < 64; ++i) vector.insert(vector.begin(), std::string("short"));
    benchmark::DoNotOptimize(vector.data());
  }
  state.SetItemsProcessed(state.iterations() * 64);
}
BENCHMARK(insert_front_strings);

}  // namespace

BENCHMARK_MAIN();
