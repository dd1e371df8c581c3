// SPDX-License-Identifier: MIT
// Buffers that come and go: -DLIBRARY_heapwright through a cache, -DLIBRARY_std
// from the heap each time.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <heapwright/buffer_cache.hpp>
#include <new>
#include <vector>

#include "poisoning_load.hpp"

namespace {

#if defined(LIBRARY_heapwright)
struct Source {
  heapwright::buffer_cache<> cache{{.total_bytes = 1 << 20, .buffers = 256}};
  std::byte* allocate(std::size_t bytes) { return cache.allocate(bytes); }
  void release(std::byte* buffer) { cache.release(buffer); }
};
#else
struct Source {
  std::byte* allocate(std::size_t bytes) { return static_cast<std::byte*>(::operator new(bytes)); }
  void release(std::byte* buffer) { ::operator delete(buffer); }
};
#endif

// One buffer of one size, taken and given back.
void one_buffer(benchmark::State& state) {
  Source source;
  const auto bytes = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    std::byte* buffer = source.allocate(bytes);
    benchmark::DoNotOptimize(buffer);
    source.release(buffer);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(one_buffer)->Arg(100)->Arg(20000)->Arg(200000);

// Hundreds of live buffers of many sizes; a page of each is written, as whoever
// asks for a buffer does.
void many_buffers(benchmark::State& state) {
  Source source;
  const auto events = poisoning_load(1, 2, 100000);
  std::vector<std::byte*> live(events.size());
  for (auto _ : state) {
    for (const auto& event : events) {
      if (event.bytes == 0) {
        source.release(live[event.request]);
        live[event.request] = nullptr;
        continue;
      }
      std::byte* buffer = source.allocate(event.bytes);
      for (std::size_t at = 0; at < event.bytes; at += 4096) buffer[at] = std::byte{1};
      live[event.request] = buffer;
    }
    for (std::byte*& buffer : live) {
      if (buffer != nullptr) source.release(buffer);
      buffer = nullptr;
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(events.size()));
}
BENCHMARK(many_buffers);

}  // namespace

BENCHMARK_MAIN();
