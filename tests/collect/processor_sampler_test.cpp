// SPDX-License-Identifier: MIT
#include "collect/processor_sampler.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/process_watch.hpp"

namespace heapwright::collect {
namespace {

TEST(ProcessorReading, IsReadFromALineOfProc) {
  ProcessorReading reading;
  EXPECT_TRUE(
      parse_processor("4711 (a ) (name) S 1 4711 4711 0 -1 4194560 1234 77 5 2 90 10 3 4 20 0 1 0 5 9\n",
                      10'000'000, reading));
  EXPECT_EQ(reading.minor_faults, 1234U);
  EXPECT_EQ(reading.major_faults, 5U);
  EXPECT_EQ(reading.cpu_ns, 1'000'000'000U);
  EXPECT_EQ(reading.system_ns, 100'000'000U);
  for (const char* line : {"", "4711 (a", "4711 (a) S", "4711 (a) S 1 2 x 0 -1 4 5 6 7 8 9 10 11"}) {
    EXPECT_FALSE(parse_processor(line, 1, reading)) << line;
  }
}

std::uint64_t now_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

// A child that works as long as it is told to and has then ended, but is not reaped.
pid_t ended_child(std::uint64_t works_ns) {
  const pid_t child = fork();
  if (child == 0) {
    while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < works_ns) continue;
    _exit(0);
  }
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  return child;
}

// Sleep and other processes are not its time; the kernel's own account is the reference.
TEST(ProcessorSampler, TellsTheTimeOfAProcessThatHasEnded) {
  const pid_t child = ended_child(30'000'000);
  const ProcessWatch watch(static_cast<std::uint32_t>(child));
  ProcessorSampler sampler;
  sampler.begin(watch, true, 5);
  sampler.sample(watch, nullptr, 0, 1000);
  rusage used{};
  ASSERT_EQ(wait4(child, nullptr, 0, &used), child);
  ASSERT_EQ(sampler.pending.size(), 2U);
  EXPECT_EQ(sampler.pending[0].cpu_ns, 0U) << "its first image";
  const auto& sample = sampler.pending[1];
  EXPECT_EQ(sample.time_ns, 1000U);
  const auto cpu_us = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1'000'000 + used.ru_utime.tv_usec +
                      used.ru_stime.tv_usec;
  EXPECT_NEAR(static_cast<double>(sample.cpu_ns), static_cast<double>(cpu_us) * 1000, 1'000'000);
  EXPECT_GE(sample.cpu_ns, 30'000'000U);
  EXPECT_LE(sample.system_ns, sample.cpu_ns);
  EXPECT_EQ(sample.minor_faults, static_cast<std::uint64_t>(used.ru_minflt));
}

TEST(ProcessorSampler, WhatAnEarlierImageUsedIsTheBase) {
  const ProcessWatch watch(static_cast<std::uint32_t>(getpid()));
  ProcessorSampler sampler;
  sampler.begin(watch, false, 5);
  ASSERT_EQ(sampler.pending.size(), 1U);
  EXPECT_GT(sampler.pending[0].cpu_ns, 0U);
  EXPECT_GT(sampler.pending[0].minor_faults, 0U);
}

TEST(ProcessorSampler, TakesFewSamples) {
  const ProcessWatch watch(static_cast<std::uint32_t>(getpid()));
  ProcessorSampler sampler;
  sampler.begin(watch, true, 0);
  for (std::uint64_t time_ns = 1'000'000; time_ns <= 350'000'000; time_ns += 1'000'000) {
    sampler.sample(watch, nullptr, 0, time_ns);
  }
  EXPECT_EQ(sampler.pending.size(), 1U + 4);
  sampler.hurry();
  sampler.sample(watch, nullptr, 0, 350'000'001);
  EXPECT_EQ(sampler.pending.size(), 1U + 5);
}

}  // namespace
}  // namespace heapwright::collect
