// SPDX-License-Identifier: MIT
// The states of the heap's own thread: forks, ends and prohibitions while it is being started. Each test has
// a process of its own, because a prohibition is for good. Not under sanitizers, which want to know each
// thread.
#include "heap/base/own_thread.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "heap/base/waiting.hpp"
#include "heap/service/process.hpp"
#include "heap/threads/caches.hpp"

namespace heapwright::heap {
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
  set_thread_work({run, offset, &cache_given_up});
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
              REQUIRE(starts == 2 && !is_maintenance_thread_there());  // the second one came, and is gone
              starter.join();
              other.join();
              REQUIRE(!is_maintenance_thread_there());
              start_maintenance();
              restart_maintenance();
              REQUIRE(!restart_idle_thread() && !is_maintenance_thread_there());
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

}  // namespace
}  // namespace heapwright::heap
