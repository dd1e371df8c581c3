// SPDX-License-Identifier: MIT
// Which processes have a maintenance thread, and when it starts: not with small blocks that fit in what
// the library made writable when it was loaded, so that such a process may
// still do what only those with one thread may; but with a block above 64 KiB,
// with the growth of the heap, with a further thread, and again in a child of
// a fork.
#include <dirent.h>
#include <sched.h>
#include <sys/prctl.h>
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

void make_blocks_wait() {
  for (int i = 0; i < 100; ++i) std::free(keep(std::malloc(100'000)));
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
  REQUIRE(thread_count() == 2);
}

// The thread ends before the process changes what it is, and stays away.
void become_another(bool (*change)()) {
  make_large_block();
  REQUIRE(change());
  REQUIRE(thread_count() == 1);
  hold_small_blocks(16);
  make_blocks_wait();
  REQUIRE(thread_count() == 1);
}
void unshare_threads() { become_another(may_unshare_threads); }
void give_up_privileges() {
  become_another([] { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0; });
}
void become_a_group() {
  become_another([] { return setresgid(getgid(), getgid(), getgid()) == 0; });
}
void become_a_user() {
  become_another([] { return setuid(getuid()) == 0; });
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

// By default: root has none, nor whoever has capabilities.
void check_default(char** argv) {
  hold_small_blocks(20);
  std::free(keep(std::malloc(70'000)));
  make_blocks_wait();
  REQUIRE(thread_count() == (getuid() == 0 ? 1 : 2));
  if (getuid() != 0) return;
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
  if (!is_preloaded() || argc > 1) {
    if (is_preloaded()) check_default(argv);
    say("done\n");
    return 0;
  }
  blocks.reserve(40 * 1024);  // 320 KiB, while the heap is small
  hold_small_blocks(20);
  REQUIRE(thread_count() == 1);
  in_child([] { REQUIRE(may_unshare_threads()); });
  in_child(make_large_block);
  in_child(unshare_threads);
  in_child(give_up_privileges);
  in_child(become_a_group);
  in_child(become_a_user);
  in_child(grow);
  in_child(run_another_thread);
  REQUIRE(thread_count() == 1);
  make_large_block();
  in_child(use_after_fork);
  say("done\n");
  return 0;
}
