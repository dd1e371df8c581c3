// SPDX-License-Identifier: MIT
// The states of the heap's own thread: forks, ends and prohibitions while it is being started. Each test has
// a process of its own, because a prohibition is for good. Not under sanitizers, which want to know each
// thread.
#include "heap/base/own_thread.hpp"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "heap/base/rights.hpp"
#include "heap/base/waiting.hpp"
#include "heap/service/process.hpp"
#include "heap/threads/caches.hpp"
#include "platform/raw_syscall.hpp"

namespace heapwright::heap {

namespace {
std::atomic<bool> is_to_be_confined{false};
}
// As in the library that is preloaded.
bool is_thread_ended_before_changes() noexcept { return is_to_be_confined; }

namespace {

#define REQUIRE(condition)   \
  do {                       \
    if (!(condition)) {      \
      _exit(__LINE__ % 256); \
    }                        \
  } while (false)

std::atomic<int> starts{0};
std::atomic<bool> may_go{false};
std::atomic<bool> has_left{false};

void await(const std::atomic<bool>& flag) {
  while (!flag) sched_yield();
}

// Says that it ends, and is there for a while still: who starts the next one waits for that.
void leave_late() noexcept {
  if (++starts == 1) {
    while (!leave_thread()) sched_yield();
    has_left = true;
    while (!may_go) sleep_until_rung(thread_bell(), 1'000'000);
    return;
  }
  while (!is_thread_to_end()) sleep_until_rung(thread_bell(), 1'000'000'000);
}

void go_on_if_memory_waits() noexcept {
  waiting.is_there = 1;
  bool is_wrong = false;
  for (int i = 0; i < 1000; ++i) is_wrong |= leave_thread();
  waiting.is_there = 0;
  starts = is_wrong ? 100 : 1;
  while (!leave_thread()) sched_yield();
  has_left = true;
}

// At once, while who starts it may not know yet that it is there.
void leave_at_once() noexcept {
  while (!leave_thread()) sched_yield();
  has_left = true;
}

void set_work(void (*run)() noexcept) {
  REQUIRE(initialize_process());
  waiting.is_there = 0;
  const auto offset =
      reinterpret_cast<char*>(&current_cache) - static_cast<char*>(__builtin_thread_pointer());
  set_thread_work({run, offset, &cache_given_up, !is_to_be_confined});
}

// 0, or the line where it went wrong; 14: it hung.
int status_of(void (*act)()) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(120);
    act();
    _exit(0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// From here on `starter` is within the start of the second thread, which lasts until may_go.
std::thread begin_second_start() {
  set_work(leave_late);
  start_maintenance();
  await(has_left);
  REQUIRE(!is_maintenance_thread_there());
  std::thread starter([] { restart_idle_thread(); });
  while (!is_maintenance_thread_there()) sched_yield();
  REQUIRE(starts == 1);
  return starter;
}

TEST(OwnThread, AForkWhileItStartsLeavesTheChildOneThatCanStart) {
  EXPECT_EQ(status_of([] {
              std::thread starter = begin_second_start();
              const int of_child = status_of([] {
                REQUIRE(starts == 1 && !is_maintenance_thread_there());
                restart_maintenance();
                REQUIRE(is_maintenance_thread_there());
                while (starts != 2) sched_yield();
                forbid_maintenance_thread();
                REQUIRE(!is_maintenance_thread_there());
              });
              REQUIRE(of_child == 0);
              may_go = true;
              starter.join();
              REQUIRE(is_maintenance_thread_there());
            }),
            0);
}

TEST(OwnThread, AProhibitionWhileItStartsIsObeyed) {
  EXPECT_EQ(status_of([] {
              std::thread starter = begin_second_start();
              std::thread other([] {
                while (!is_thread_to_end()) sched_yield();
                may_go = true;
              });
              forbid_maintenance_thread();
              REQUIRE(starts == 1 && !is_maintenance_thread_there());  // the second one has not come
              starter.join();
              other.join();
              REQUIRE(!is_maintenance_thread_there());
              start_maintenance();
              restart_maintenance();
              REQUIRE(!restart_idle_thread() && !is_maintenance_thread_there());
            }),
            0);
}

TEST(OwnThread, AChangeWhileItStartsPutsThatOff) {
  EXPECT_EQ(status_of([] {
              std::thread starter = begin_second_start();
              std::thread other([] {
                while (!is_thread_to_end()) sched_yield();
                may_go = true;
              });
              begin_change();
              REQUIRE(starts == 1 && !is_maintenance_thread_there());
              starter.join();
              other.join();
              REQUIRE(!restart_idle_thread() && !is_maintenance_thread_there());
              end_change();
              REQUIRE(!is_maintenance_thread_there());  // no memory waits
              REQUIRE(restart_idle_thread() && is_maintenance_thread_there());
              while (starts != 2) sched_yield();
              waiting.is_there = 1;
              begin_change();
              begin_change();  // of another thread
              REQUIRE(!is_maintenance_thread_there());
              end_change();
              REQUIRE(!is_maintenance_thread_there());
              end_change();
              REQUIRE(is_maintenance_thread_there());
              forbid_maintenance_thread();
              begin_change();
              end_change();
              REQUIRE(!is_maintenance_thread_there());
            }),
            0);
}

TEST(OwnThread, ChangesDuringAForkAreNotTheChilds) {
  EXPECT_EQ(status_of([] {
              set_work(leave_late);
              starts = 1;
              start_maintenance();
              while (starts != 2) sched_yield();
              begin_change();
              REQUIRE(status_of([] {
                        REQUIRE(restart_idle_thread());
                        forbid_maintenance_thread();
                      }) == 0);
              end_change();
              REQUIRE(restart_idle_thread());
            }),
            0);
}

// A child that shares its parent's memory would have it, and take it along at its end.
TEST(OwnThread, ItDoesNotStartInAChildThatSharesTheMemory) {
  EXPECT_EQ(status_of([] {
              set_work(leave_late);
              static std::atomic<bool> is_started{false};
              const auto run = [](void*) -> int {
                start_maintenance();
                is_started = is_maintenance_thread_there();
                _exit(0);  // with all its threads
              };
              alignas(16) static char stack[65'536];
              const pid_t child = clone(run, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, nullptr);
              REQUIRE(child > 0 && waitpid(child, nullptr, 0) == child && !is_started);
              starts = 1;
              start_maintenance();
              REQUIRE(is_maintenance_thread_there());
            }),
            0);
}

TEST(OwnThread, AForkOfAProcessThatHasItStartsItAnew) {
  EXPECT_EQ(status_of([] {
              set_work(leave_late);
              starts = 1;
              start_maintenance();
              while (starts != 2) sched_yield();
              REQUIRE(status_of([] {
                        REQUIRE(!is_maintenance_thread_there());
                        restart_maintenance();
                        while (starts != 3) sched_yield();
                        forbid_maintenance_thread();
                      }) == 0);
              REQUIRE(is_maintenance_thread_there());
              forbid_maintenance_thread();
              // Prohibited here is prohibited there.
              REQUIRE(status_of([] {
                        restart_maintenance();
                        REQUIRE(!is_maintenance_thread_there());
                      }) == 0);
            }),
            0);
}

TEST(OwnThread, WhatHasLeftIsNotThere) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(status_of([] {
                set_work(leave_at_once);
                start_maintenance();
                await(has_left);
                REQUIRE(!is_maintenance_thread_there());
              }),
              0);
  }
}

TEST(OwnThread, ItStaysIfMemoryCameToWait) {
  EXPECT_EQ(status_of([] {
              set_work(go_on_if_memory_waits);
              start_maintenance();
              await(has_left);
              REQUIRE(starts == 1 && !is_maintenance_thread_there());
            }),
            0);
}

// The number of the first call that was not refused; 0: all were.
std::atomic<long> not_refused{-1};

bool is_permitted(long number) {
  for (const long permitted : {SYS_futex, SYS_clock_gettime, SYS_munmap, SYS_getpid, SYS_exit, SYS_exit_group,
                               SYS_madvise, SYS_mprotect, SYS_mmap, SYS_write, SYS_kill}) {
    if (number == permitted) return true;
  }
  return false;
}

// Not subject to filters: the kernel's own probes end in these, and anybody else gets SIGILL.
bool is_of_probes(long number) {
#if defined(__x86_64__)
  return number == 335 || number == 336;
#else
  return number < 0;
#endif
}

// Calls that are there, some beyond those that the kernel has, and those of another calling convention.
void try_all_numbers() {
  constexpr long most = 1024;
  constexpr long short_pointers = 0x40000000;  // x32's
  for (long number = 0; number < most; ++number) {
    if (is_of_probes(number)) continue;
    if (!is_permitted(number) && platform::raw_syscall(number) != -EPERM) not_refused = number;
    if (platform::raw_syscall(number | short_pointers) != -EPERM) not_refused = number | short_pointers;
  }
}

// With arguments that would do more than return pages.
void try_arguments() {
  static char page[4096];
  const long at = platform::raw_argument(page);
  constexpr int of_nobody = MAP_PRIVATE | MAP_ANONYMOUS;
  const long process = platform::raw_syscall(SYS_getpid);
  const long results[] = {
    platform::raw_syscall(SYS_write, 1, at, 0),
    platform::raw_syscall(SYS_kill, process, 0),
    platform::raw_syscall(SYS_kill, process + 1, SIGABRT),
    platform::raw_syscall(SYS_kill, -1, SIGABRT),
    platform::raw_syscall(SYS_mprotect, at, 0, PROT_EXEC),
    platform::raw_syscall(SYS_mprotect, at, 0, PROT_READ | PROT_EXEC),
    platform::raw_syscall(SYS_mmap, 0, 4096, PROT_READ | PROT_EXEC, of_nobody, -1, 0),
    platform::raw_syscall(SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE, 0, 0),
    platform::raw_syscall(SYS_madvise, at, 0, MADV_REMOVE),
#if defined(__x86_64__)
    [] {
      long result = 20;  // getpid of 32-bit programs
      asm volatile("int $0x80" : "+a"(result) : : "memory");
      return result;
    }(),
#endif
  };
  for (const long result : results) {
    if (result != -EPERM) not_refused = 1'000'000 + (&result - results);
  }
}

// What it needs.
void try_own_calls() {
  const long made =
      platform::raw_syscall(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool is_done = made > 0 && platform::raw_syscall(SYS_madvise, made, 4096, MADV_DONTNEED) == 0 &&
                       platform::raw_syscall(SYS_mprotect, made, 4096, PROT_NONE) == 0 &&
                       platform::raw_syscall(SYS_munmap, made, 4096) == 0 &&
                       platform::raw_syscall(SYS_write, 2, made, 0) == 0;
  if (!is_done) not_refused = 2'000'000;
}

void try_everything() noexcept {
  long before = -1;
  not_refused.compare_exchange_strong(before, 0);
  try_all_numbers();
  try_arguments();
  try_own_calls();
  starts = 1;
  while (!is_thread_to_end()) sleep_until_rung(thread_bell(), 1'000'000'000);
}

TEST(OwnThread, ItMayDoNothingButReturnPages) {
  is_to_be_confined = true;
  EXPECT_EQ(status_of([] {
              set_work(try_everything);
              start_maintenance();
              while (starts == 0) sched_yield();
              if (not_refused != 0) std::fprintf(stderr, "not refused: %ld\n", not_refused.load());
              REQUIRE(not_refused == 0 && is_maintenance_thread_there());
            }),
            0);
}

}  // namespace
}  // namespace heapwright::heap
