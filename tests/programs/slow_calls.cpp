// SPDX-License-Identifier: MIT
// Heap calls that are slow for a reason each, with what the kernel's own
// counters and a clock around the calls say of them:
//
//   slow_calls consolidation | faults | lock | growth | threshold | trim | preempted | slow_free | quiet |
//   lost [THREADS]
//
// Says "note WORD NUMBER": times in ns, counts as they are.
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "say.hpp"

namespace {

int threads = 4;  // of lock and growth

std::uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t thread_cpu_ns() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

rusage usage() {
  rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage;
}

void note(const char* word, std::uint64_t value) {
  say("note %s %lu\n", word, static_cast<unsigned long>(value));
}

void* small_block() { return malloc(24); }

// Many small blocks are freed; the next large request merges them all.
void consolidation() {
  constexpr std::size_t blocks = 2'000'000;
  std::vector<void*> held(blocks);
  for (void*& block : held) block = small_block();
  for (void* block : held) free(block);
  const std::uint64_t begin_ns = now_ns();
  const std::uint64_t begin_cpu_ns = thread_cpu_ns();
  void* large = malloc(2000);
  const std::uint64_t cpu_ns = thread_cpu_ns() - begin_cpu_ns;
  note("slow_ns", now_ns() - begin_ns);
  note("cpu_ns", cpu_ns);
  note("small_frees", blocks);
  free(large);
}

// A block that calloc has to clear page by page: the heap's top was given back and comes anew.
void faults() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  void* first = malloc(24 << 20);
  free(first);  // top of the heap now, and not cleared: calloc may not trust it
  const rusage before = usage();
  const std::uint64_t begin_ns = now_ns();
  void* block = calloc(1, 16 << 20);
  note("slow_ns", now_ns() - begin_ns);
  note("faults", static_cast<std::uint64_t>(usage().ru_minflt - before.ru_minflt));
  free(block);
}

// The collector, this program's parent, stands still while a call faults more often than its rings hold.
// On one processor: each has a ring, and the kernel tells what a ring lost with its next record.
void lost() {
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET(sched_getcpu(), &here);
  if (sched_setaffinity(0, sizeof here, &here) != 0) perror("sched_setaffinity");
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  free(malloc(200 << 20));
  const rusage before = usage();
  kill(getppid(), SIGSTOP);
  void* block = calloc(1, 128 << 20);
  kill(getppid(), SIGCONT);
  note("faults", static_cast<std::uint64_t>(usage().ru_minflt - before.ru_minflt));
  sleep(1);  // until the rings have room again: the kernel tells of a loss with its next record
  free(calloc(1, 1 << 20));
  free(block);
}

// Threads that need one arena: run with MALLOC_ARENA_MAX=1.
void lock() {
  std::vector<std::uint64_t> off_ns(static_cast<std::size_t>(threads));
  std::atomic<long> waits = 0;
  std::vector<std::thread> running;
  const std::uint64_t started_ns = now_ns();
  for (std::uint64_t& own_off_ns : off_ns) {
    running.emplace_back([&own_off_ns, &waits] {
      const long own_waits = usage().ru_nvcsw;
      const std::uint64_t begin_ns = now_ns();
      const std::uint64_t begin_cpu_ns = thread_cpu_ns();
      void* blocks[64] = {};
      for (std::size_t i = 0; i < 200'000; ++i) {
        free(blocks[i % 64]);
        blocks[i % 64] = malloc(1100 + i * 97 % 3000);
      }
      own_off_ns = now_ns() - begin_ns - (thread_cpu_ns() - begin_cpu_ns);
      waits += usage().ru_nvcsw - own_waits;
      for (void* block : blocks) free(block);
    });
  }
  for (std::thread& thread : running) thread.join();
  note("work_ns", now_ns() - started_ns);
  std::uint64_t all_ns = 0;
  for (const std::uint64_t one_ns : off_ns) all_ns += one_ns;
  note("off_ns", all_ns);
  note("waits", static_cast<std::uint64_t>(waits));
}

// Threads that fill fresh arenas with blocks of 96 KiB: each takes an mprotect. At the same
// time, since a thread that ends leaves its arena to the next.
void growth() {
  constexpr std::size_t blocks = 500;
  std::vector<std::thread> running;
  std::atomic<std::uint64_t> cpu_ns = 0;
  std::barrier ready(threads);
  for (int number = 0; number < threads; ++number) {
    running.emplace_back([&ready, &cpu_ns] {
      std::vector<void*> held(blocks);
      free(malloc(8));
      ready.arrive_and_wait();
      const std::uint64_t begin_ns = thread_cpu_ns();
      for (void*& block : held) block = malloc(96 * 1024);
      cpu_ns += thread_cpu_ns() - begin_ns;
      for (void* block : held) free(block);
    });
  }
  for (std::thread& thread : running) thread.join();
  note("blocks", static_cast<std::uint64_t>(threads) * blocks);
  note("cpu_ns", cpu_ns);
}

void* picture() { return malloc(4 << 20); }

// The first free of a large block makes the next ones part of the heap.
void threshold() {
  free(picture());
  constexpr std::size_t later = 40;
  std::vector<void*> held(later);
  for (void*& block : held) block = malloc(1 << 20);
  for (void* block : held) free(block);
  note("later", later);
}

void trim() {
  std::vector<void*> held(60'000);
  for (void*& block : held) memset(block = malloc(5000), 1, 5000);
  for (std::size_t i = 0; i + 1 < held.size(); ++i) {
    if (i % 2 == 0) free(held[i]);
  }
  const std::uint64_t begin_ns = now_ns();
  malloc_trim(0);
  note("slow_ns", now_ns() - begin_ns);
}

// A process that never rests shares the one processor with this one, which clears memory in calloc. Large
// blocks, so that next to no time goes by outside of it; but cleared within far less than 20 us, also where
// another process has the processor's other half.
void preempted() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  cpu_set_t one;
  sched_getaffinity(0, sizeof one, &one);
  for (int cpu = CPU_SETSIZE - 1, kept = 0; cpu >= 0; --cpu) {
    if (CPU_ISSET(cpu, &one) && kept++ != 0) CPU_CLR(cpu, &one);
  }
  sched_setaffinity(0, sizeof one, &one);
  const pid_t hog = fork();
  if (hog == 0) {
    for (;;) continue;
  }
  const rusage before = usage();
  const std::uint64_t begin_ns = now_ns();
  const std::uint64_t begin_cpu_ns = thread_cpu_ns();
  while (now_ns() - begin_ns < 1'000'000'000) {
    for (int i = 0; i < 10; ++i) free(calloc(1, 150'000));
  }
  note("off_ns", now_ns() - begin_ns - (thread_cpu_ns() - begin_cpu_ns));
  note("preemptions", static_cast<std::uint64_t>(usage().ru_nivcsw - before.ru_nivcsw));
  kill(hog, 9);
  waitpid(hog, nullptr, 0);
}

// The kernel takes 64 MiB of pages back within one free.
void drop_buffer(void* buffer) { free(buffer); }

void slow_free() {
  constexpr std::size_t bytes = 64 << 20;
  void* buffer = malloc(bytes);
  memset(buffer, 1, bytes);
  for (int i = 0; i < 1000; ++i) free(small_block());
  const std::uint64_t begin_ns = now_ns();
  drop_buffer(buffer);
  note("slow_ns", now_ns() - begin_ns);
}

void quiet() {
  for (int i = 0; i < 1000; ++i) free(small_block());
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  if (count > 2) threads = std::atoi(arguments[2]);
  const struct {
    const char* name;
    void (*run)();
  } all[] = {{"consolidation", consolidation},
             {"faults", faults},
             {"lock", lock},
             {"growth", growth},
             {"threshold", threshold},
             {"trim", trim},
             {"preempted", preempted},
             {"slow_free", slow_free},
             {"quiet", quiet},
             {"lost", lost}};
  for (const auto& one : all) {
    if (what != one.name) continue;
    one.run();
    return 0;
  }
  return 2;
}
