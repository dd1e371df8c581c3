// SPDX-License-Identifier: MIT
// Linked with the static library, once as a program without shared libraries: all of the malloc family is
// the heap's, also for what the C library makes and the program frees. Nothing stands in front of setuid and
// the like there, so that no thread runs, and what only a process with one thread may do is allowed.
//   linked [threads]      so many are expected, 1 without
#include <dirent.h>
#include <malloc.h>
#include <sched.h>
#include <sys/wait.h>

#include <thread>
#include <vector>

#include "../programs/say.hpp"
#include "heapwright/heap.h"

namespace {

int thread_count() {
  DIR* folder = opendir("/proc/self/task");
  REQUIRE(folder != nullptr);
  int count = 0;
  while (const dirent* entry = readdir(folder)) count += entry->d_name[0] != '.' ? 1 : 0;
  closedir(folder);
  return count;
}

std::uint64_t live_bytes() {
  heapwright_heap_statistics statistics;
  REQUIRE(heapwright_heap_get_statistics(nullptr, &statistics) == 0);
  return statistics.live_bytes;
}

// Each is the heap's, and its free too.
void use_family() {
  constexpr std::size_t large_bytes = 300'000;
  const std::uint64_t before = live_bytes();
  std::vector<void*> blocks{std::malloc(large_bytes),
                            std::calloc(3, large_bytes),
                            std::realloc(nullptr, 1'000'000),
                            std::aligned_alloc(4096, 81'920),
                            memalign(64, large_bytes),
                            valloc(large_bytes),
                            pvalloc(large_bytes),
                            ::operator new(large_bytes)};
  blocks.push_back(nullptr);
  REQUIRE(posix_memalign(&blocks.back(), 1 << 16, large_bytes) == 0);
  for (void* block : blocks) REQUIRE(block != nullptr && malloc_usable_size(block) >= 81'920);
  REQUIRE(live_bytes() - before >= 10 * large_bytes);
  blocks[0] = std::realloc(blocks[0], 20 * large_bytes);
  for (void* block : blocks) std::free(block);
  REQUIRE(live_bytes() <= before + 8192);
}

// What the C library makes, the program frees or the other way round.
void use_the_c_library() {
  std::FILE* file = std::fopen("/proc/self/maps", "r");
  REQUIRE(file != nullptr);
  char* line = nullptr;
  std::size_t bytes = 0;
  while (getline(&line, &bytes, file) > 0) {
    char* copy = strdup(line);
    REQUIRE(copy != nullptr && copy != line);
    std::free(copy);
  }
  std::free(line);
  std::fclose(file);
}

void use_threads() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int round = 0; round < 200; ++round) use_the_c_library();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Enough for the thread to start where it may.
void grow() {
  std::vector<void*> blocks(64 * 1024);
  for (void*& block : blocks) block = std::malloc(1000);
  for (void* block : blocks) std::free(block);
  for (int i = 0; i < 100; ++i) std::free(keep(std::malloc(100'000)));
}

// It has a thread of its own: the fork handlers are there, which forget the parent's.
void use_a_child(int threads) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    use_family();
    grow();
    REQUIRE(thread_count() == threads);
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

// By default only a process without rights has the thread.
void run_again_without_rights(char** argv) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    REQUIRE(setgid(65534) == 0 && setuid(65534) == 0);
    execv("/proc/self/exe", argv);
    _exit(113);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  use_family();
  use_the_c_library();
  use_a_child(threads);
  grow();
  REQUIRE(thread_count() == threads);
  REQUIRE((unshare(CLONE_THREAD) == 0) == (threads == 1));
  use_threads();
  use_a_child(threads);
  if (getuid() == 0) run_again_without_rights(argv);
  REQUIRE(heapwright_heap_is_valid() != 0);
  say("done\n");
  return 0;
}
