// SPDX-License-Identifier: MIT
#include "collect/memory_sampler.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "collect/process_watch.hpp"
#include "tracee/process_status.hpp"

namespace heapwright::collect {
namespace {

TEST(MemorySampler, TakesTheRecordersOwnOutOfTheProcesss) {
  ProcessWatch watch(static_cast<std::uint32_t>(getpid()));
  constexpr std::uint64_t own_bytes = 1 << 20;
  const std::vector<char> memory(4 * own_bytes, 1);
  MemorySampler whole;
  MemorySampler without;
  whole.sample(watch, 0, 0, 1, 1);
  without.sample(watch, 0, own_bytes, 1, 1);
  ASSERT_EQ(whole.pending.size(), 1U);
  ASSERT_EQ(without.pending.size(), 1U);
  EXPECT_EQ(whole.pending[0].recorder_bytes, 0U);
  EXPECT_EQ(without.pending[0].recorder_bytes, own_bytes);
  const auto of_process = without.pending[0].resident_anonymous_bytes + own_bytes;
  EXPECT_NEAR(static_cast<double>(of_process), static_cast<double>(whole.pending[0].resident_anonymous_bytes),
              256.0 * 1024);
}

// The program can write over what it is told.
TEST(MemorySampler, NoFigureRunsBelowZero) {
  ProcessWatch watch(static_cast<std::uint32_t>(getpid()));
  MemorySampler sampler;
  sampler.sample(watch, 0, UINT64_MAX, 1, 1);
  ASSERT_EQ(sampler.pending.size(), 1U);
  EXPECT_EQ(sampler.pending[0].resident_anonymous_bytes, 0U);
}

void* pause_for_ever(void*) {
  while (true) pause();
}

// The kernel shows no memory in the files of a thread that has ended.
TEST(MemorySampler, GoesOnBehindTheMainThreadsEnd) {
  const pid_t child = fork();
  if (child == 0) {
    pthread_t thread;
    pthread_create(&thread, nullptr, pause_for_ever, nullptr);
    syscall(SYS_exit, 0);  // of this thread alone
  }
  ProcessWatch watch(static_cast<std::uint32_t>(child));
  while (!tracee::has_ended(child, child)) usleep(1000);
  EXPECT_FALSE(watch.is_gone());
  MemorySampler sampler;
  sampler.sample(watch, 0, 0, 1, 1);
  kill(child, SIGKILL);  // before what may fail: nothing else would end it
  waitpid(child, nullptr, 0);
  ASSERT_EQ(sampler.pending.size(), 1U);
  EXPECT_GT(sampler.pending[0].resident_anonymous_bytes, 0U);
}

}  // namespace
}  // namespace heapwright::collect
