// SPDX-License-Identifier: MIT
// 100,000 objects of 104 bytes, made and freed together; and buffers that come
// and go. One library per build: -DLIBRARY_<name>.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <heapwright/arena.hpp>
#include <heapwright/buffer_cache.hpp>
#include <heapwright/deferred_free.hpp>
#include <memory>
#include <memory_resource>
#include <vector>
#if defined(LIBRARY_llvm)
#include <llvm/Support/Allocator.h>
#elif defined(LIBRARY_boost)
#include <boost/pool/object_pool.hpp>
#endif

namespace {

struct Object {
  explicit Object(std::uint64_t n) : number(n) {}
  std::uint64_t number;
  char more[96];
};
static_assert(sizeof(Object) == 104);

constexpr std::size_t object_count = 100000;

void objects(benchmark::State& state) {
  std::vector<Object*> all(object_count);
#if defined(LIBRARY_heapwright)
  heapwright::arena memory;
#elif defined(LIBRARY_pmr)
  std::pmr::monotonic_buffer_resource memory;
#elif defined(LIBRARY_llvm)
  llvm::BumpPtrAllocator memory;
#endif
  for (auto _ : state) {
#if defined(LIBRARY_heapwright)
    for (std::size_t i = 0; i < object_count; ++i) all[i] = memory.create<Object>(i);
    benchmark::DoNotOptimize(all.data());
    memory.reset();
#elif defined(LIBRARY_pmr)
    for (std::size_t i = 0; i < object_count; ++i) {
      all[i] = new (memory.allocate(sizeof(Object), alignof(Object))) Object(i);
    }
    benchmark::DoNotOptimize(all.data());
    memory.release();
#elif defined(LIBRARY_llvm)
    for (std::size_t i = 0; i < object_count; ++i) all[i] = new (memory.Allocate<Object>()) Object(i);
    benchmark::DoNotOptimize(all.data());
    memory.Reset();
#elif defined(LIBRARY_boost)
    boost::object_pool<Object> memory;
    for (std::size_t i = 0; i < object_count; ++i) all[i] = new (memory.malloc()) Object(i);
    benchmark::DoNotOptimize(all.data());
#else
    for (std::size_t i = 0; i < object_count; ++i) all[i] = new Object(i);
    benchmark::DoNotOptimize(all.data());
    for (Object* object : all) delete object;
#endif
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(object_count));
}
BENCHMARK(objects);

#if defined(LIBRARY_heapwright) || defined(LIBRARY_std)
void buffers(benchmark::State& state) {
  [[maybe_unused]] heapwright::buffer_cache<> cache({.total_bytes = 1 << 20, .buffers = 64});
  const auto bytes = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
#if defined(LIBRARY_heapwright)
    std::byte* buffer = cache.allocate(bytes);
    benchmark::DoNotOptimize(buffer);
    cache.release(buffer);
#else
    auto* buffer = static_cast<std::byte*>(::operator new(bytes));
    benchmark::DoNotOptimize(buffer);
    ::operator delete(buffer);
#endif
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(buffers)->Arg(100)->Arg(20000)->Arg(200000);
#endif

#if defined(LIBRARY_heapwright)
void defer_only(benchmark::State& state) {
  static int object = 0;
  heapwright::deferred_free queue({.entries = 4096});
  int left = 0;
  for (auto _ : state) {
    if (left-- == 0) {
      state.PauseTiming();
      queue.drain();
      left = 4000;
      state.ResumeTiming();
    }
    queue.defer(&object, [](void*) {});
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(defer_only);
#endif

}  // namespace

BENCHMARK_MAIN();
