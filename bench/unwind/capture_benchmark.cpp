// SPDX-License-Identifier: MIT
// Cost of one capture on repeating stacks, beside the two usual unwinders.
//
//   same:     one call site: the stored stack is still there
//   inner:    three call sites in turn, the inner two frames differ each time
//   program:  a random walk over a call tree, captures at all levels
// The number behind same and inner is the depth. "nothing" is the calls alone.
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unwind.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "session/layout.hpp"
#include "unwind/unwind.hpp"

namespace {

using heapwright::session::ProcessBlock;
namespace unwind = heapwright::unwind;

using Hook = void (*)(const void* frame);

unwind::Tables tables;
unwind::ThreadStack* thread_stack;
alignas(64) unsigned char thread_memory[12 * 1024];
Hook hook;
int (*libunwind_backtrace)(void**, int);

void start() {
  constexpr std::size_t bytes = offsetof(ProcessBlock, lanes);
  if (tables.block != nullptr) munmap(tables.block, bytes);
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  tables.block = static_cast<ProcessBlock*>(memory);
  std::memset(thread_memory, 0, sizeof thread_memory);
  thread_stack = unwind::begin_thread(thread_memory);
}

void nothing(const void*) {}
void heapwright_capture(const void* frame) {
  benchmark::DoNotOptimize(unwind::capture(tables, *thread_stack, frame));
}
void libgcc_capture(const void*) {
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* sum) {
        *static_cast<std::uint64_t*>(sum) += _Unwind_GetIP(context);
        return _URC_NO_REASON;
      },
      thread_memory);
}
void libunwind_capture(const void*) {
  void* frames[128];
  benchmark::DoNotOptimize(libunwind_backtrace(frames, 128));
}

// Stands for malloc.
[[gnu::noinline, gnu::optimize("no-omit-frame-pointer")]] void allocate() {
  hook(__builtin_frame_address(0));
  asm volatile("");
}

[[gnu::noinline]] void allocate_for_string(int value) {
  allocate();
  asm volatile("" : : "r"(value) : "memory");
}
[[gnu::noinline]] void allocate_for_node(int value) {
  allocate_for_string(value);
  asm volatile("" : : "r"(value) : "memory");
}

[[gnu::noinline]] void run_at(int depth, benchmark::State& state, bool alternates) {
  if (depth > 0) {
    run_at(depth - 1, state, alternates);
    asm volatile("" : : "r"(depth) : "memory");
    return;
  }
  for (auto _ : state) {
    allocate_for_node(1);
    if (!alternates) continue;
    allocate_for_string(2);
    allocate_for_node(3);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * (alternates ? 3 : 1));
}

std::uint64_t random_state = 1;
std::uint64_t next_random() {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

[[gnu::noinline]] std::int64_t visit(int depth, unsigned fan_out);
[[gnu::noinline]] std::int64_t visit_left(int depth, unsigned fan_out) {
  const std::int64_t count = visit(depth, fan_out);
  asm volatile("" : : "r"(depth) : "memory");
  return count;
}
std::int64_t visit(int depth, unsigned fan_out) {
  std::int64_t count = 1;
  allocate_for_string(depth);
  const std::uint64_t choice = next_random();
  if (depth > 0 && (choice & 7) != 0) count += visit_left(depth - 1, fan_out);
  if (depth > 0 && (choice >> 8) % 100 < fan_out) count += visit(depth - 1, fan_out);
  if ((choice & 16) != 0) allocate();
  return count + ((choice & 16) != 0 ? 1 : 0);
}

void repeat(benchmark::State& state, Hook with, bool alternates) {
  hook = with;
  start();
  const int frames_outside = 11;  // main, the benchmark library, this file
  const int depth = static_cast<int>(state.range(0)) - frames_outside;
  run_at(depth > 0 ? depth : 0, state, alternates);
}

void walk_tree(benchmark::State& state, Hook with) {
  hook = with;
  start();
  random_state = 1;
  std::int64_t count = 0;
  for (auto _ : state) count += visit(9, 60);
  state.SetItemsProcessed(count);
}

void add(const char* name, Hook with) {
  const std::string prefix = name;
  for (const int depth : {12, 20, 60}) {
    benchmark::RegisterBenchmark((prefix + "/same").c_str(), repeat, with, false)->Arg(depth);
    benchmark::RegisterBenchmark((prefix + "/inner").c_str(), repeat, with, true)->Arg(depth);
  }
  benchmark::RegisterBenchmark((prefix + "/program").c_str(), walk_tree, with);
}

}  // namespace

int main(int count, char** arguments) {
  benchmark::Initialize(&count, arguments);
  add("nothing", nothing);
  add("heapwright", heapwright_capture);
  add("libgcc", libgcc_capture);
  if (void* library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL)) {
    libunwind_backtrace = reinterpret_cast<int (*)(void**, int)>(dlsym(library, "unw_backtrace"));
    if (libunwind_backtrace != nullptr) add("libunwind", libunwind_capture);
  }
  benchmark::RunSpecifiedBenchmarks();
}
