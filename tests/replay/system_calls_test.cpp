// SPDX-License-Identifier: MIT
#include "replay/system_calls.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>

#include "replay/plan_of.hpp"
#include "replay/recorded_order.hpp"
#include "replay/report_reading.hpp"

namespace heapwright::replay {
namespace {

double calls_of(const SystemCalls& calls, const std::string& kind) {
  figures::Report report;
  calls.report(report);
  return figure_of(report, kind + "_calls");
}

bool is_known(const SystemCalls& calls) {
  figures::Report report;
  calls.report(report);
  return report.view().find("mmap_calls") != std::string_view::npos;
}

class SystemCallsOfAThread : public ::testing::Test {
 protected:
  void SetUp() override {
    calls.enter(0);
    if (!is_known(calls)) GTEST_SKIP() << "needs Linux 5.11";
  }
  SystemCalls calls{2};
};

TEST_F(SystemCallsOfAThread, AreCountedByKindAndDoWhatTheyDo) {
  void* outside = mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  SystemCalls::begin();
  void* memory = mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  static_cast<char*>(memory)[0] = 1;
  const int dropped = madvise(memory, page, MADV_DONTNEED);
  const char now = static_cast<char*>(memory)[0];
  const int refused = madvise(memory, page, -1);
  const int why = errno;
  memory = mremap(memory, 4 * page, 8 * page, MREMAP_MAYMOVE);
  const int locked = mprotect(memory, page, PROT_READ);
  const int freed = munmap(memory, 8 * page);
  const long self = syscall(SYS_getpid);
  SystemCalls::end();
  munmap(outside, page);
  EXPECT_EQ(dropped, 0);
  EXPECT_EQ(now, 0);
  EXPECT_EQ(refused, -1);
  EXPECT_EQ(why, EINVAL);
  EXPECT_EQ(locked, 0);
  EXPECT_EQ(freed, 0);
  EXPECT_EQ(self, getpid());
  EXPECT_EQ(calls_of(calls, "mmap"), 1);
  EXPECT_EQ(calls_of(calls, "madvise"), 2);
  EXPECT_EQ(calls_of(calls, "mremap"), 1);
  EXPECT_EQ(calls_of(calls, "mprotect"), 1);
  EXPECT_EQ(calls_of(calls, "munmap"), 1);
  EXPECT_EQ(calls_of(calls, "other"), 1);
  EXPECT_EQ(calls_of(calls, "brk"), 0);
}

TEST_F(SystemCallsOfAThread, AThreadThatAHeapCallStartsRuns) {
  SystemCalls::begin();
  int made = 0;
  std::thread([&made] { made = 7; }).join();
  SystemCalls::end();
  EXPECT_EQ(made, 7);
  SystemCalls::begin();
  const long self = syscall(SYS_getpid);
  SystemCalls::end();
  EXPECT_EQ(self, getpid());
  EXPECT_GE(calls_of(calls, "other"), 2);
}

TEST_F(SystemCallsOfAThread, SignalsThatAHeapCallBlocksStayBlocked) {
  sigset_t blocked;
  sigset_t before;
  sigset_t now;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  SystemCalls::begin();
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  SystemCalls::end();
  pthread_sigmask(SIG_SETMASK, &before, &now);
  EXPECT_TRUE(sigismember(&now, SIGUSR1));
}

TEST_F(SystemCallsOfAThread, AddUpOverThreads) {
  const auto call_once = [](SystemCalls& all, std::uint32_t lane) {
    all.enter(lane);
    SystemCalls::begin();
    syscall(SYS_getpid);
    SystemCalls::end();
  };
  std::thread(call_once, std::ref(calls), 1).join();
  call_once(calls, 0);
  EXPECT_EQ(calls_of(calls, "other"), 2);
}

TEST(RecordedOrderSystemCalls, ABlockOfPagesOfItsOwnIsMappedAndUnmapped) {
  constexpr std::uint64_t blocks = 5;
  constexpr std::uint64_t size = 40 << 20;  // glibc's threshold never gets there
  auto trace = trace_of_threads(1);
  for (std::uint64_t i = 0; i < blocks; ++i) {
    trace.malloc(0, 100 + 200 * i, 0x10000000, size);
    trace.free(0, 200 + 200 * i, 0x10000000);
  }
  const PlanOf plan(trace);
  Stage stage(plan.path());
  RecordedOrder order(stage, 0, 0);
  order.run();
  figures::Report report;
  order.report(report);
  if (report.view().find("mmap_calls") == std::string_view::npos) GTEST_SKIP() << "needs Linux 5.11";
  EXPECT_EQ(figure_of(report, "mmap_calls"), blocks);
  EXPECT_EQ(figure_of(report, "munmap_calls"), blocks);
  EXPECT_GT(figure_of(report, "mmap_ns"), 0);
}

}  // namespace
}  // namespace heapwright::replay
