// SPDX-License-Identifier: MIT
// Containers of nodes over each allocator, all in one program that runs its
// rows in random order. `nodes memory ROW LIBRARY` prints the bytes of heap and of
// resident memory per element instead; `nodes memory` prints which there are.
// "abseil" is btree_map: what to use instead.
#include <absl/container/btree_map.h>
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <unistd.h>

#include <boost/pool/pool_alloc.hpp>
#include <cstdint>
#include <cstdio>
#include <foonathan/memory/memory_pool.hpp>
#include <foonathan/memory/std_allocator.hpp>
#include <fstream>
#include <heapwright/node_pool.hpp>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

using Key = std::uint64_t;
using Pair = std::pair<const Key, Key>;
constexpr std::size_t count = 100000;

template <class Allocator>
using MapOf = std::map<Key, Key, std::less<>, Allocator>;
template <class Allocator>
using TableOf = std::unordered_map<Key, Key, std::hash<Key>, std::equal_to<>, Allocator>;

// Each library: make<C>() gives something that `*` turns into a container.
struct std_ {
  using Map = MapOf<std::allocator<Pair>>;
  using Table = TableOf<std::allocator<Pair>>;
  using List = std::list<Key>;
  template <class C>
  struct holder {
    C container;
    C& operator*() { return container; }
  };
};
struct heapwright_ {
  using Map = MapOf<heapwright::node_allocator<Pair>>;
  using Table = TableOf<heapwright::node_allocator<Pair>>;
  using List = std::list<Key, heapwright::node_allocator<Key>>;
  template <class C>
  struct holder {
    heapwright::pooled<C> container;
    C& operator*() { return *container; }
  };
};
struct heapwright_one_by_one_ : heapwright_ {
  template <class C>
  struct holder {
    heapwright::node_pool pool;
    C container{heapwright::node_allocator<Pair>(pool)};
    C& operator*() { return container; }
  };
};
struct pmr_ {
  using Map = MapOf<std::pmr::polymorphic_allocator<Pair>>;
  using Table = TableOf<std::pmr::polymorphic_allocator<Pair>>;
  using List = std::pmr::list<Key>;
  template <class C>
  struct holder {
    std::pmr::unsynchronized_pool_resource pool;
    C container{&pool};
    C& operator*() { return container; }
  };
};
struct boost_ {
  template <class T>
  using allocator = boost::fast_pool_allocator<T, boost::default_user_allocator_new_delete,
                                               boost::details::pool::null_mutex>;
  using Map = MapOf<allocator<Pair>>;
  using Table = TableOf<std::allocator<Pair>>;  // its pool cannot serve arrays of buckets well
  using List = std::list<Key, allocator<Key>>;
  template <class C>
  struct holder {
    C container;
    C& operator*() { return container; }
  };
};
struct foonathan_ {
  template <class T>
  using allocator = foonathan::memory::std_allocator<T, foonathan::memory::memory_pool<>>;
  using Map = MapOf<allocator<Pair>>;
  using List = std::list<Key, allocator<Key>>;
  template <class C>
  struct holder {
    foonathan::memory::memory_pool<> pool{std::is_same_v<C, List> ? 24 : 48, 65536};
    C container{allocator<Pair>(pool)};
    C& operator*() { return container; }
  };
};
struct abseil_ {
  using Map = absl::btree_map<Key, Key>;
  template <class C>
  struct holder {
    C container;
    C& operator*() { return container; }
  };
};

std::vector<Key> random_keys() {
  std::vector<Key> keys(count);
  std::mt19937_64 random(1);
  for (Key& key : keys) key = random();
  return keys;
}

template <class C>
void fill(C& container, const std::vector<Key>& keys) {
  for (const Key key : keys) container[key] = key;
}

template <class Library, class C>
void build_and_end(benchmark::State& state) {
  const auto keys = random_keys();
  for (auto _ : state) {
    typename Library::template holder<C> held;
    fill(*held, keys);
    benchmark::DoNotOptimize(*held);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(count));
}

// A list to whose end one element is added for each one taken at the front.
template <class Library>
void queue(benchmark::State& state) {
  typename Library::template holder<typename Library::List> held;
  for (std::size_t i = 0; i < 1000; ++i) (*held).push_back(i);
  for (auto _ : state) {
    (*held).push_back(1);
    (*held).pop_front();
    benchmark::DoNotOptimize(*held);
  }
  state.SetItemsProcessed(state.iterations());
}

// The end alone, of a list of 10^6.
template <class Library>
void end_of_list(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    std::optional<typename Library::template holder<typename Library::List>> held(std::in_place);
    for (std::size_t i = 0; i < 1000000; ++i) (**held).push_back(i);
    state.ResumeTiming();
    held.reset();
  }
  state.SetItemsProcessed(state.iterations() * 1000000);
}

struct Memory {
  double heap;
  double resident;
};
Memory memory_now() {
  const auto heap = mallinfo2();
  std::ifstream statm("/proc/self/statm");
  std::size_t all = 0;
  std::size_t resident = 0;
  statm >> all >> resident;
  return {static_cast<double>(heap.arena - heap.fordblks + heap.hblkhd),
          static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE))};
}

void print_growth(const Memory& before, std::size_t elements) {
  const Memory after = memory_now();
  std::printf("{\"heap\": %.1f, \"resident\": %.1f}\n",
              (after.heap - before.heap) / static_cast<double>(elements),
              (after.resident - before.resident) / static_cast<double>(elements));
}

// Of a process that holds one container.
template <class Library, class C>
void print_memory() {
  const auto keys = random_keys();
  memory_now();  // what it needs itself
  const Memory before = memory_now();
  typename Library::template holder<C> held;
  if constexpr (requires { (*held).push_back(Key{}); }) {
    for (const Key key : keys) (*held).push_back(key);
  } else {
    fill(*held, keys);
  }
  print_growth(before, count);
}

// Of a process that holds many containers of a few elements each.
template <class Library, class C, std::size_t in_each>
void print_memory_of_small() {
  constexpr std::size_t containers = 20000 / in_each;
  memory_now();
  const Memory before = memory_now();
  std::vector<std::unique_ptr<typename Library::template holder<C>>> held(containers);
  for (auto& one : held) {
    one = std::make_unique<typename Library::template holder<C>>();
    for (Key key = 0; key < in_each; ++key) (**one)[key * 7919] = key;
  }
  print_growth(before, containers * in_each);
}

struct MemoryRow {
  std::string name;
  std::string library;
  void (*print)();
};
std::vector<MemoryRow> memory_rows;

template <class Library>
void add_all(const std::string& library) {
  const auto add = [&](const char* name, void (*run)(benchmark::State&)) {
    return benchmark::RegisterBenchmark((std::string(name) + "/" + library).c_str(), run);
  };
  const auto add_memory = [&](const char* name, void (*print)()) {
    memory_rows.push_back({name, library, print});
  };
  add("map", &build_and_end<Library, typename Library::Map>);
  add_memory("map", &print_memory<Library, typename Library::Map>);
  add_memory("maps_of_4", &print_memory_of_small<Library, typename Library::Map, 4>);
  add_memory("maps_of_16", &print_memory_of_small<Library, typename Library::Map, 16>);
  add_memory("maps_of_64", &print_memory_of_small<Library, typename Library::Map, 64>);
  if constexpr (requires { typename Library::Table; }) {
    add_memory("tables_of_16", &print_memory_of_small<Library, typename Library::Table, 16>);
    add_memory("table", &print_memory<Library, typename Library::Table>);
    add("table", &build_and_end<Library, typename Library::Table>);
  }
  if constexpr (requires { typename Library::List; }) {
    add_memory("list", &print_memory<Library, typename Library::List>);
    add("queue", &queue<Library>);
    add("end_of_list", &end_of_list<Library>)->Iterations(1);
  }
}

}  // namespace

int main(int words, char** arguments) {
  add_all<std_>("std");
  add_all<heapwright_>("heapwright");
  add_all<heapwright_one_by_one_>("heapwright_one_by_one");
  add_all<pmr_>("pmr");
  add_all<boost_>("boost");
  add_all<foonathan_>("foonathan");
  add_all<abseil_>("abseil");
  if (words >= 2 && std::string(arguments[1]) == "memory") {
    for (const MemoryRow& row : memory_rows) {
      if (words == 2) std::printf("%s %s\n", row.name.c_str(), row.library.c_str());
      if (words == 4 && row.name == arguments[2] && row.library == arguments[3]) row.print();
    }
    return 0;
  }
  benchmark::Initialize(&words, arguments);
  benchmark::RunSpecifiedBenchmarks();
}
