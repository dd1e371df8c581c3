// SPDX-License-Identifier: MIT
// Vectors in bulk: whole ranges copied, assigned, appended and inserted, and
// elements pushed one by one. All libraries in one program, which runs their
// rows in random order. `vectors_bulk fixed N` runs each row N times, for
// callgrind: the functions are named after row and library.
#include <absl/container/inlined_vector.h>
#include <benchmark/benchmark.h>
#include <llvm/ADT/SmallVector.h>

#include <array>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <heapwright/small_vector.hpp>
#include <numeric>
#include <string>
#include <vector>

namespace {

struct std_ {
  template <class T, unsigned N>
  using vector = std::vector<T>;
};
struct heapwright_ {
  template <class T, unsigned N>
  using vector = heapwright::small_vector<T, N>;
};
struct boost_ {
  template <class T, unsigned N>
  using vector = boost::container::small_vector<T, N>;
};
struct abseil_ {
  template <class T, unsigned N>
  using vector = absl::InlinedVector<T, N>;
};
struct llvm_ {
  template <class T, unsigned N>
  using vector = llvm::SmallVector<T, N>;
};

template <class Vector>
Vector counted(int count) {
  Vector vector;
  vector.reserve(
      static_cast<std::size_t>(count));  // all libraries ask the heap for the same: addresses matter
  for (int i = 0; i < count; ++i) vector.push_back(static_cast<typename Vector::value_type>(i));
  return vector;
}

template <class Library>
void copy_1000(benchmark::State& state) {
  const auto source = counted<typename Library::template vector<int, 8>>(1000);
  for (auto _ : state) {
    auto copy = source;
    benchmark::DoNotOptimize(copy.data());
    benchmark::ClobberMemory();
  }
}

template <class Library>
void copy_assign_1000(benchmark::State& state) {
  const auto source = counted<typename Library::template vector<int, 8>>(1000);
  auto target = source;
  for (auto _ : state) {
    target = source;
    benchmark::DoNotOptimize(target.data());
    benchmark::ClobberMemory();
  }
}

// Of 61 bytes, so that copies begin at each place within a line of the cache,
// wherever the heap put the text.
template <class Library>
void append_61_chars(benchmark::State& state) {
  alignas(64) static const std::array<char, 61> line = {'l', 'i', 'n', 'e'};
  typename Library::template vector<char, 16> text;
  text.reserve(61 * 64);
  int lines = 0;
  for (auto _ : state) {
    text.insert(text.end(), line.begin(), line.end());
    benchmark::ClobberMemory();
    if (++lines % 64 == 0) text.clear();
  }
}

template <class Library>
void insert_16_in_the_middle(benchmark::State& state) {
  const auto added = counted<typename Library::template vector<int, 16>>(16);
  auto vector = counted<typename Library::template vector<int, 8>>(64);
  vector.reserve(80);
  for (auto _ : state) {
    vector.insert(vector.begin() + 32, added.begin(), added.end());
    benchmark::DoNotOptimize(vector.data());
    benchmark::ClobberMemory();
    vector.resize(64);
  }
}

template <class Library>
void insert_8_strings(benchmark::State& state) {
  const std::vector<std::string> added(8, "short");
  typename Library::template vector<std::string, 4> vector;
  vector.reserve(32);
  for (auto _ : state) {
    vector.resize(24);
    vector.insert(vector.begin() + 12, added.begin(), added.end());
    benchmark::DoNotOptimize(vector.data());
    benchmark::ClobberMemory();
  }
}

// To four vectors in turn, which lie at four places within a line of the cache.
// The compiler does not know the number.
template <class Library>
void assign_200_chars(benchmark::State& state) {
  std::array<typename Library::template vector<char, 16>, 4> texts;
  for (auto& text : texts) text.reserve(200);
  std::size_t next = 0;
  std::size_t count = 200;
  for (auto _ : state) {
    benchmark::DoNotOptimize(count);
    texts[next].assign(count, 'x');
    benchmark::DoNotOptimize(texts[next].data());
    benchmark::ClobberMemory();
    next = (next + 1) % texts.size();
  }
}

template <class Library>
void push_1000(benchmark::State& state) {
  for (auto _ : state) {
    typename Library::template vector<int, 8> vector;
    for (int i = 0; i < 1000; ++i) vector.push_back(i);
    benchmark::DoNotOptimize(vector.data());
    benchmark::ClobberMemory();
  }
}

template <class Library>
void build_7_inline(benchmark::State& state) {
  for (auto _ : state) {
    typename Library::template vector<std::uint64_t, 7> vector;
    for (std::uint64_t i = 0; i < 7; ++i) vector.push_back(i);
    benchmark::DoNotOptimize(vector.data());
    benchmark::ClobberMemory();
  }
}

// To a vector of which the compiler knows nothing.
template <class Vector>
[[gnu::noinline]] void push_some(Vector& vector, int count) {
  for (int i = 0; i < count; ++i) vector.push_back(static_cast<std::uint64_t>(i));
}
template <class Library>
void push_7_inline(benchmark::State& state) {
  typename Library::template vector<std::uint64_t, 7> vector;
  for (auto _ : state) {
    push_some(vector, 7);
    benchmark::ClobberMemory();
    vector.clear();
  }
}
template <class Library>
void push_1000_reserved(benchmark::State& state) {
  typename Library::template vector<std::uint64_t, 7> vector;
  vector.reserve(1000);
  for (auto _ : state) {
    push_some(vector, 1000);
    benchmark::ClobberMemory();
    vector.clear();
  }
}

template <class Library>
void erase_first_8_of_64(benchmark::State& state) {
  auto vector = counted<typename Library::template vector<int, 8>>(64);
  for (auto _ : state) {
    vector.erase(vector.begin(), vector.begin() + 8);
    benchmark::DoNotOptimize(vector.data());
    benchmark::ClobberMemory();
    vector.resize(64);
  }
}

template <class Library>
void add_all(const std::string& library, benchmark::IterationCount fixed_count) {
  const auto add = [&](const char* name, void (*run)(benchmark::State&)) {
    auto* row = benchmark::RegisterBenchmark(
        (std::string(name) + "/" + library).c_str(), [run](benchmark::State& state) {
          run(state);
          state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
        });
    if (fixed_count != 0) row->Iterations(fixed_count);
  };
  add("copy_1000", &copy_1000<Library>);
  add("copy_assign_1000", &copy_assign_1000<Library>);
  add("append_61_chars", &append_61_chars<Library>);
  add("insert_16_in_the_middle", &insert_16_in_the_middle<Library>);
  add("insert_8_strings", &insert_8_strings<Library>);
  add("assign_200_chars", &assign_200_chars<Library>);
  add("push_1000", &push_1000<Library>);
  add("build_7_inline", &build_7_inline<Library>);
  add("push_7_inline", &push_7_inline<Library>);
  add("push_1000_reserved", &push_1000_reserved<Library>);
  add("erase_first_8_of_64", &erase_first_8_of_64<Library>);
}

}  // namespace

int main(int count, char** arguments) {
  const bool is_fixed = count == 3 && std::strcmp(arguments[1], "fixed") == 0;
  const benchmark::IterationCount fixed_count = is_fixed ? std::atoi(arguments[2]) : 0;
  add_all<std_>("std", fixed_count);
  add_all<heapwright_>("heapwright", fixed_count);
  add_all<boost_>("boost", fixed_count);
  add_all<abseil_>("abseil", fixed_count);
  add_all<llvm_>("llvm", fixed_count);
  benchmark::Initialize(&count, arguments);
  benchmark::RunSpecifiedBenchmarks();
}
