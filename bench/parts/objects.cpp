// SPDX-License-Identifier: MIT
// 100,000 objects of 104 bytes, made and then freed together. One library per
// build: -DLIBRARY_<name>.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>
#if defined(LIBRARY_heapwright)
#include <heapwright/arena.hpp>
#elif defined(LIBRARY_pmr)
#include <memory_resource>
#elif defined(LIBRARY_llvm)
#include <llvm/Support/Allocator.h>
#elif defined(LIBRARY_boost)
#include <boost/pool/object_pool.hpp>
#elif defined(LIBRARY_foonathan)
#include <foonathan/memory/memory_stack.hpp>
#endif

namespace {

struct Object {
  explicit Object(std::uint64_t n) : number(n) {}
  std::uint64_t number;
  char more[96];
};
static_assert(sizeof(Object) == 104);

constexpr std::size_t object_count = 100000;

#if defined(LIBRARY_heapwright)
struct Memory {
  heapwright::arena arena;
  Object* make(std::size_t n) { return arena.create<Object>(n); }
  void free(const std::vector<Object*>&) { arena.reset(); }
};
#elif defined(LIBRARY_pmr)
struct Memory {
  std::pmr::monotonic_buffer_resource resource;
  Object* make(std::size_t n) { return new (resource.allocate(sizeof(Object), alignof(Object))) Object(n); }
  void free(const std::vector<Object*>&) { resource.release(); }
};
#elif defined(LIBRARY_llvm)
struct Memory {
  llvm::BumpPtrAllocator allocator;
  Object* make(std::size_t n) { return new (allocator.Allocate<Object>()) Object(n); }
  void free(const std::vector<Object*>&) { allocator.Reset(); }
};
#elif defined(LIBRARY_foonathan)
struct Memory {
  foonathan::memory::memory_stack<> stack{std::size_t{1} << 16};
  foonathan::memory::memory_stack<>::marker start = stack.top();
  Object* make(std::size_t n) { return new (stack.allocate(sizeof(Object), alignof(Object))) Object(n); }
  void free(const std::vector<Object*>&) { stack.unwind(start); }
};
#elif defined(LIBRARY_boost)
struct Memory {  // a boost::object_pool frees all objects only with itself
  std::unique_ptr<boost::object_pool<Object> > pool = std::make_unique<boost::object_pool<Object> >();
  Object* make(std::size_t n) { return new (pool->malloc()) Object(n); }
  void free(const std::vector<Object*>&) { pool = std::make_unique<boost::object_pool<Object> >(); }
};
#else
struct Memory {
  Object* make(std::size_t n) { return new Object(n); }
  void free(const std::vector<Object*>& all) {
    for (Object* object : all) delete object;
  }
};
#endif

void make_and_free(Memory& memory, std::vector<Object*>& all) {
  for (std::size_t i = 0; i < object_count; ++i) all[i] = memory.make(i);
  benchmark::DoNotOptimize(all.data());
  benchmark::ClobberMemory();
  memory.free(all);
}

// In a new process: what is timed is mostly the kernel's first touch of pages.
void objects_first(benchmark::State& state) {
  std::vector<Object*> all(object_count);
  for (auto _ : state) {
    Memory memory;
    make_and_free(memory, all);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(object_count));
}
BENCHMARK(objects_first)->Iterations(1);

// Larger than any hole that the blocks before it leave.
constexpr std::size_t staying_bytes = 100000;

// Not so for what lies outside of the C library's main heap.
bool is_below_much(const char* block) {
  const char* end = static_cast<const char*>(sbrk(0));
  return block < end && end - block > std::ptrdiff_t{512 * 1024};
}

// Each round with memory of its own. A block above all others stays, as in a
// program that goes on using its heap: else the heap's end would go back to the
// kernel after each round.
void objects_once(benchmark::State& state) {
  std::vector<Object*> all(object_count);
  std::unique_ptr<char[]> stays;
  {
    Memory memory;
    for (std::size_t i = 0; i < object_count; ++i) all[i] = memory.make(i);
    stays = std::make_unique<char[]>(staying_bytes);
    memory.free(all);
  }
  if (is_below_much(stays.get())) state.SkipWithError("the block that stays is not the last one");
  for (auto _ : state) {
    Memory memory;
    make_and_free(memory, all);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(object_count));
}
BENCHMARK(objects_once);

// Round after round with the same memory.
void objects_again(benchmark::State& state) {
  std::vector<Object*> all(object_count);
  Memory memory;
  for (auto _ : state) make_and_free(memory, all);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(object_count));
}
BENCHMARK(objects_again);

}  // namespace

BENCHMARK_MAIN();
