// SPDX-License-Identifier: MIT
// When the maintenance thread starts: not with small blocks that fit in what
// the library made writable when it was loaded, so that such a process may
// still do what only those with one thread may; but with a block above 64 KiB,
// with the growth of the heap, with a further thread, and again in a child of
// a fork.
#include <dirent.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "public_names.hpp"

namespace {

int thread_count() {
  DIR* folder = opendir("/proc/self/task");
  REQUIRE(folder != nullptr);
  int count = 0;
  while (const dirent* entry = readdir(folder)) count += entry->d_name[0] != '.' ? 1 : 0;
  closedir(folder);
  return count;
}

// The kernel refuses this to a process with more than one thread.
bool may_unshare_threads() { return unshare(CLONE_THREAD) == 0; }

std::vector<void*> blocks;

void hold_small_blocks(std::size_t mebibytes) {
  for (std::size_t i = 0; i < mebibytes * 1024; ++i) {
    blocks.push_back(std::malloc(1000));
    REQUIRE(blocks.back() != nullptr);
  }
}

void in_child(void (*act)()) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    act();
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

void make_large_block() {
  REQUIRE(std::malloc(70'000) != nullptr);
  REQUIRE(thread_count() == 2 && !may_unshare_threads());
}

void grow() {
  hold_small_blocks(16);
  REQUIRE(thread_count() == 2);
}

void run_another_thread() {
  std::thread([] { std::free(std::malloc(1)); }).join();
  while (thread_count() > 2) sched_yield();  // the kernel is not done with the joined one
  REQUIRE(thread_count() == 2);
}

void use_after_fork() {
  REQUIRE(thread_count() == 1);
  hold_small_blocks(1);
  REQUIRE(thread_count() == 2);
}

}  // namespace

int main() {
  if (!is_preloaded()) {
    say("done\n");
    return 0;
  }
  blocks.reserve(40 * 1024);  // 320 KiB, while the heap is small
  hold_small_blocks(20);
  REQUIRE(thread_count() == 1 && may_unshare_threads());
  in_child(make_large_block);
  in_child(grow);
  in_child(run_another_thread);
  REQUIRE(thread_count() == 1);
  make_large_block();
  in_child(use_after_fork);
  say("done\n");
  return 0;
}
