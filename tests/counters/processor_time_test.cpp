// SPDX-License-Identifier: MIT
#include "counters/processor_time.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <thread>

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

TEST(ProcessorTime, AShortCallIsNotLookedInto) {
  Look look{.at_ns = 1000, .off_ns = 7};
  const Took took = end_timing(look, 2000, 2000 + may_have_waited_from_ns - 1);
  EXPECT_EQ(took.ns, may_have_waited_from_ns - 1);
  EXPECT_EQ(took.waited_ns, 0U);
  EXPECT_EQ(look.at_ns, 1000U);
}

}  // namespace
}  // namespace heapwright::counters
