// SPDX-License-Identifier: MIT
// The kernel's own rings, with a child that faults as often as it is told to.
#include "collect/kernel_events.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace heapwright::collect {
namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t most_pages = 32768;

// By the kernel's other count.
struct Counted {
  std::size_t faults = 0;
  std::size_t switches = 0;
};

Counted counted_until_now() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return {static_cast<std::size_t>(used.ru_minflt), static_cast<std::size_t>(used.ru_nvcsw + used.ru_nivcsw)};
}

// Touches so many fresh pages at each word on the pipe, and answers with its faults and switches: under a
// sanitizer they are more than pages. On one processor: a ring tells of what it lost when it is written to
// again.
[[noreturn]] void touch_pages(int orders, int answers) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
  auto* memory = static_cast<volatile char*>(
      mmap(nullptr, most_pages * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  madvise(const_cast<char*>(memory), most_pages * page_bytes, MADV_NOHUGEPAGE);
  std::size_t pages = 0;
  while (read(orders, &pages, sizeof pages) == sizeof pages) {
    const auto before = counted_until_now();
    for (; pages != 0; --pages, memory += page_bytes) *memory = 1;
    auto counted = counted_until_now();
    counted = {counted.faults - before.faults, counted.switches - before.switches};
    if (write(answers, &counted, sizeof counted) != sizeof counted) break;
  }
  _exit(0);
}

class KernelEventsOfAChild : public ::testing::Test {
 protected:
  void SetUp() override {
    int orders[2];
    int answers[2];
    ASSERT_EQ(pipe(orders), 0);
    ASSERT_EQ(pipe(answers), 0);
    child_ = fork();
    if (child_ == 0) {
      close(orders[1]);
      touch_pages(orders[0], answers[1]);
    }
    close(orders[0]);
    close(answers[1]);
    orders_ = orders[1];
    answers_ = answers[0];
    clock_.calibrate();
    events_.open(child_, false);
    if (!events_.is_open()) GTEST_SKIP() << events_.state();
  }
  void TearDown() override {
    close(orders_);
    waitpid(child_, nullptr, 0);
    close(answers_);
  }
  // As a call of the child that touches so many pages, drained when it has ended.
  trace::KernelWork work_of(std::size_t pages) {
    const auto begin_ns = clock_.moment().ns;
    EXPECT_EQ(write(orders_, &pages, sizeof pages), static_cast<ssize_t>(sizeof pages));
    EXPECT_EQ(read(answers_, &counted_, sizeof counted_), static_cast<ssize_t>(sizeof counted_));
    const auto end_ns = clock_.moment().ns;
    events_.catch_up();
    PendingWork* pending = events_.of(static_cast<std::uint32_t>(child_));
    return pending == nullptr ? trace::KernelWork{} : pending->take(begin_ns, end_ns);
  }

  TickClock clock_;
  KernelEvents events_{clock_};
  pid_t child_ = 0;
  Counted counted_;  // the child's answer
  int orders_ = -1;
  int answers_ = -1;
};

TEST_F(KernelEventsOfAChild, EachFaultIsCounted) {
  work_of(10);
  const auto work = work_of(200);
  EXPECT_GE(counted_.faults, 200U);
  EXPECT_GE(work.faults, counted_.faults);
  EXPECT_LE(work.faults, counted_.faults + 10);
  EXPECT_FALSE(work.is_incomplete);
  EXPECT_EQ(events_.lost(), 0U);
}

// The kernel tells of a loss with the next record that finds room: after the call has been looked at.
TEST_F(KernelEventsOfAChild, ACallThatFillsTheRingIsNotWholeAndTheNextOneIs) {
  work_of(10);
  constexpr std::size_t pages = 30'000;
  const auto work = work_of(pages);
  EXPECT_TRUE(work.is_incomplete);
  EXPECT_LT(work.faults, pages);
  const auto counted = counted_;
  const auto later = work_of(100);
  EXPECT_FALSE(later.is_incomplete) << "what was lost belongs to the call before";
  EXPECT_GE(later.faults, 100U);
  // Two records a fault, and two a switch to another program, on a busy machine.
  const auto told = events_.lost() + 2 * work.faults;
  const auto slack = counted.faults / 100;
  EXPECT_GE(told, 2 * counted.faults - slack);
  EXPECT_LE(told, 2 * counted.faults + 2 * counted.switches + slack) << counted.switches << " switches";
}

}  // namespace
}  // namespace heapwright::collect
