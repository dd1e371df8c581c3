// SPDX-License-Identifier: MIT
#include "counters/processor_time.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace heapwright::counters {
namespace {

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(now.tv_nsec);
}

void work(std::uint64_t ns) {
  const std::uint64_t end_ns = processor_ns() + ns;
  while (processor_ns() < end_ns) {
  }
}

template <typename Call>
Took timed(Look& look, Call call) {
  const std::uint64_t begin_ns = begin_timing(look, now_ns);
  call();
  return end_timing(look, begin_ns, now_ns());
}

TEST(ProcessorTime, WorkIsNoWait) {
  Look look{};
  const Took took = timed(look, [] { work(20'000'000); });
  EXPECT_GE(took.ns - took.waited_ns, 19'900'000U);
  EXPECT_LE(took.ns - took.waited_ns, 21'000'000U);
}

TEST(ProcessorTime, SleepIsWait) {
  Look look{};
  for (int round = 0; round < 3; ++round) {
    const Took took = timed(look, [] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      work(3'000'000);
    });
    EXPECT_GE(took.waited_ns, 19'000'000U);
    EXPECT_GE(took.ns - took.waited_ns, 2'900'000U);
    EXPECT_LE(took.ns - took.waited_ns, 4'000'000U);
  }
}

// The thread waited between two calls: none of it is the second one's.
TEST(ProcessorTime, WhatWasBeforeTheCallIsNotTheCalls) {
  Look look{};
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const Took took = timed(look, [] { work(2'000'000); });
    EXPECT_LE(took.ns - took.waited_ns, 3'000'000U);
    EXPECT_GE(took.ns - took.waited_ns, 1'900'000U);
  }
}

// A mutex that another thread holds for 100 ms from the call's begin on. A thread that loses its processor
// just then arrives later.
TEST(ProcessorTime, AWaitForALockIsOne) {
  Look look{};
  for (int round = 0; round < 3; ++round) {
    std::mutex mutex;
    std::atomic<bool> is_held = false;
    std::atomic<bool> is_wanted = false;
    std::thread holder([&] {
      const std::lock_guard held(mutex);
      is_held = true;
      while (!is_wanted) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    });
    while (!is_held) std::this_thread::yield();
    const Took took = timed(look, [&] {
      is_wanted = true;
      const std::lock_guard held(mutex);
    });
    holder.join();
    EXPECT_EQ(took.waited, Waited::lock);
    EXPECT_GE(took.waited_ns, 50'000'000U);
  }
}

// On a busy machine the kernel takes the processor away, now and then; that is no wait for a lock.
TEST(ProcessorTime, AThreadThatWorksNeverWaitsForALock) {
  std::atomic<bool> is_done = false;
  std::vector<std::thread> others;
  for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i) {
    others.emplace_back([&] {
      while (!is_done) {
      }
    });
  }
  Look look{};
  int preempted = 0;
  for (int round = 0; round < 100 || (preempted == 0 && round < 2000); ++round) {
    const Took took = timed(look, [] { work(2'000'000); });
    EXPECT_NE(took.waited, Waited::lock);
    preempted += took.waited == Waited::preempted ? 1 : 0;
  }
  is_done = true;
  for (std::thread& other : others) other.join();
  EXPECT_GT(preempted, 0);
}

// The thread slept between the last look and the call, which works: either may have been the wait.
TEST(ProcessorTime, AShortSleepBeforeTheCallIsNoWaitForALock) {
  const std::uint64_t end_ns = now_ns();
  const std::uint64_t off_ns = end_ns - processor_ns();
  const auto waited_in = [&](std::uint64_t took_ns) {
    Look look{.at_ns = end_ns - took_ns - 40'000,
              .off_ns = off_ns - 30'000,
              .switches_off_ns = 0,
              .switches = {},
              .timing = Timing::rare};
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    read_switches(look.switches);
    --look.switches.voluntary;
    const std::uint64_t slept_ns = now_ns() - processor_ns() - off_ns;
    look.off_ns += slept_ns;
    return end_timing(look, now_ns() - took_ns, now_ns()).waited;
  };
  EXPECT_EQ(waited_in(200'000), Waited::kernel);
  EXPECT_EQ(waited_in(35'000), Waited::lock);
}

TEST(ProcessorTime, WhatAThreadWaitedFor) {
  const Switches before{.voluntary = 7, .involuntary = 5, .disk_faults = 1};
  EXPECT_EQ(kind_of_wait(before, {8, 5, 1}), Waited::lock);
  EXPECT_EQ(kind_of_wait(before, {8, 6, 1}), Waited::lock);
  EXPECT_EQ(kind_of_wait(before, {7, 6, 1}), Waited::preempted);
  EXPECT_EQ(kind_of_wait(before, {8, 5, 2}), Waited::kernel);
  EXPECT_EQ(kind_of_wait(before, before), Waited::kernel);
}

TEST(ProcessorTime, ACallJustAfterALookIsNotTypicalOfAThreadThatCallsAllTheTime) {
  const auto nothing = [] {};
  Look look{};
  EXPECT_TRUE(timed(look, nothing).is_typical);
  EXPECT_TRUE(timed(look, nothing).is_typical);
  EXPECT_EQ(look.timing, Timing::soon_after_another);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(timed(look, nothing).is_typical);
  EXPECT_TRUE(timed(look, nothing).is_typical);
}

TEST(ProcessorTime, ThatOfAThreadThatCallsRarelyIs) {
  Look look{};
  for (int round = 0; round < 4; ++round) {
    EXPECT_TRUE(timed(look, [] {}).is_typical);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(ProcessorTime, AShortCallIsNotLookedInto) {
  Look look{.at_ns = 1000, .off_ns = 7, .switches_off_ns = 7, .switches = {}, .timing = Timing::rare};
  const Took took = end_timing(look, 2000, 2000 + may_have_waited_from_ns - 1);
  EXPECT_EQ(took.ns, may_have_waited_from_ns - 1);
  EXPECT_EQ(took.waited_ns, 0U);
  EXPECT_EQ(look.at_ns, 1000U);
}

// So that the next call finds a look that is not old.
TEST(ProcessorTime, AfterAShortCallAnOldLookIsTakenAgain) {
  Look look{.at_ns = 1000, .off_ns = 7, .switches_off_ns = 7, .switches = {}, .timing = Timing::rare};
  const std::uint64_t end_ns = 1000 + look_after_call_ns + 1;
  end_timing(look, end_ns - 100, end_ns);
  EXPECT_EQ(look.at_ns, end_ns);
}

}  // namespace
}  // namespace heapwright::counters
