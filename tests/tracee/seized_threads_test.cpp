// SPDX-License-Identifier: MIT
#include "tracee/seized_threads.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <thread>

#include "tracee/process_status.hpp"

namespace heapwright::tracee {
namespace {

using Outcome = SeizedThreads::Outcome;
using namespace std::chrono_literals;
constexpr auto patience = 30s;

class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe(ends_.data()), 0); }
  ~Pipe() {
    for (const int end : ends_) close(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void tell(int value) const { EXPECT_EQ(write(ends_[1], &value, sizeof value), ssize_t{sizeof value}); }
  int hear() const {
    int value = 0;
    return read(ends_[0], &value, sizeof value) == ssize_t{sizeof value} ? value : -1;
  }

 private:
  std::array<int, 2> ends_{};
};

// Does the work and ends.
pid_t started(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  work();
  _exit(0);
}

int status_of(pid_t child) {
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

void wait_until(const std::function<bool()>& is_so) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!is_so() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
  ASSERT_TRUE(is_so());
}

}  // namespace

TEST(SeizedThreads, AllStandStillAndRunOn) {
  Pipe go;
  const pid_t child = started([&] { std::thread([&] { go.hear(); }).join(); });
  wait_until([&] { return threads_of(child).size() >= 2; });  // TSan has threads of its own
  SeizedThreads threads(child);
  ASSERT_EQ(threads.stop(patience), Outcome::stopped);
  EXPECT_GE(threads.threads().size(), 2U);
  EXPECT_EQ(threads.threads().size(), threads_of(child).size());
  for (const auto& [id, thread] : threads.threads()) EXPECT_EQ(state_of(child, id)[0], 't');
  threads.resume();
  EXPECT_TRUE(threads.threads().empty());
  EXPECT_GT(threads.stopped_ns(), 0U);
  go.tell(1);
  EXPECT_EQ(status_of(child), 0);
}

// Who waits for a child of vfork does not stop before it has gone. TSan makes a fork of vfork itself.
TEST(SeizedThreads, AThreadThatIsLateRunsOnWhenItCan) {
  Pipe go;
  const pid_t child = started([&] {
    if (syscall(SYS_clone, CLONE_VFORK | SIGCHLD, nullptr, nullptr, nullptr, nullptr) == 0) {
      go.hear();
      _exit(0);
    }
  });
  wait_until([&] { return state_of(child, child)[0] == 'D'; });
  SeizedThreads threads(child);
  const Outcome outcome = threads.stop(20ms);
  ASSERT_EQ(outcome, Outcome::late);
  const std::string why = threads.why_not(outcome);
  EXPECT_NE(why.find("its thread " + std::to_string(child) + " does not stop; it waits in the kernel"),
            std::string::npos)
      << why;
  EXPECT_TRUE(threads.release_late());
  EXPECT_EQ(threads.stop(20ms), Outcome::late) << "it is not seized twice";
  go.tell(1);
  wait_until([&] { return !threads.release_late(); });
  EXPECT_EQ(status_of(child), 0) << "it does not stand still for ever";
}

TEST(SeizedThreads, TheParentOfAProcessThatIsKilledMeanwhileIsTold) {
  Pipe number;
  const pid_t parent = started([&] {
    const pid_t child = started([] { pause(); });
    number.tell(child);
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status)) _exit(1);
  });
  const pid_t process = number.hear();
  SeizedThreads threads(process);
  ASSERT_EQ(threads.stop(patience), Outcome::stopped);
  kill(process, SIGKILL);
  threads.resume();
  EXPECT_EQ(status_of(parent), 0);
}

// It is not stopped any longer, so it cannot be let go, nor seized again, before it is gone.
TEST(SeizedThreads, AProcessThatIsKilledMeanwhileHasEnded) {
  for (int turn = 0; turn < 100; ++turn) {
    const pid_t child = started([] { pause(); });
    SeizedThreads threads(child);
    ASSERT_EQ(threads.stop(patience), Outcome::stopped);
    kill(child, SIGKILL);
    threads.resume();
    ASSERT_EQ(threads.stop(patience), Outcome::ended);
    EXPECT_TRUE(WIFSIGNALED(status_of(child)));
  }
}

TEST(SeizedThreads, AProcessThatHasEndedIsTold) {
  const pid_t child = started([] {});
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  SeizedThreads threads(child);
  EXPECT_EQ(threads.stop(patience), Outcome::ended);
  EXPECT_TRUE(has_no_memory(child));
  EXPECT_EQ(status_of(child), 0) << "its status is left for us";
  EXPECT_EQ(SeizedThreads(child).stop(patience), Outcome::ended);
  EXPECT_FALSE(has_no_memory(getpid()));
}

TEST(SeizedThreads, WhoTracesItIsTold) {
  Pipe number;
  Pipe go;
  const pid_t child = started([] { pause(); });
  const pid_t tracer = started([&] {
    SeizedThreads threads(child);
    number.tell(threads.stop(patience) == Outcome::stopped ? 1 : 0);
    go.hear();
  });
  ASSERT_EQ(number.hear(), 1);
  SeizedThreads threads(child);
  const Outcome outcome = threads.stop(patience);
  ASSERT_EQ(outcome, Outcome::forbidden);
  EXPECT_EQ(threads.why_not(outcome),
            "it is traced by process " + std::to_string(tracer) + " (a debugger?); end that first");
  go.tell(1);
  EXPECT_EQ(status_of(tracer), 0);
  kill(child, SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(status_of(child)));
}

}  // namespace heapwright::tracee
