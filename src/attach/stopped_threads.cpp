// SPDX-License-Identifier: MIT
#include "attach/stopped_threads.hpp"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <cerrno>
#include <set>
#include <vector>

#include "attach/process_status.hpp"
#include "attach/refusal.hpp"

// Since Linux 5.13.
#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION static_cast<__ptrace_request>(0x420f)
#endif

namespace heapwright::attach {
namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(Clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

// While this exists, waits end every few milliseconds so that the time can be checked.
class Ticks {
 public:
  Ticks() {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    sigaction(SIGALRM, &action, &before_);
    set_interval(5'000);
  }
  ~Ticks() {
    set_interval(0);
    sigaction(SIGALRM, &before_, nullptr);
  }
  Ticks(const Ticks&) = delete;
  Ticks& operator=(const Ticks&) = delete;

 private:
  static void set_interval(suseconds_t us) {
    const itimerval interval{.it_interval = {0, us}, .it_value = {0, us}};
    setitimer(ITIMER_REAL, &interval, nullptr);
  }
  struct sigaction before_ {};
};

// A restartable sequence would neither be restarted nor continue correctly if we changed the program counter
// within it. A thread in a system call is not in one.
bool may_be_in_sequence(const StoppedThread& thread) {
  if (static_cast<std::int64_t>(thread.registers.orig_rax) >= 0) return false;
  struct Configuration {
    std::uint64_t address;
    std::uint32_t bytes;
    std::uint32_t signature;
    std::uint32_t flags;
    std::uint32_t padding;
  } configuration{};
  const long size = ptrace(PTRACE_GET_RSEQ_CONFIGURATION, thread.id, sizeof configuration, &configuration);
  if (size < static_cast<long>(sizeof configuration) || configuration.address == 0) return false;
  constexpr std::uint64_t place_of_section = 8;  // in struct rseq
  errno = 0;
  const long section = ptrace(PTRACE_PEEKDATA, thread.id, configuration.address + place_of_section, nullptr);
  return errno != 0 || section != 0;
}

}  // namespace

bool StoppedThreads::stop(std::chrono::milliseconds patience) {
  const Ticks ticks;
  begin_ns_ = now_ns();
  try {
    stop_all(Clock::now() + patience);
  } catch (...) {
    resume();
    throw;
  }
  for (auto& [id, thread] : threads_) {
    if (ptrace(PTRACE_GETREGS, id, nullptr, &thread.registers) != 0) thread.is_stopped = false;
  }
  std::erase_if(threads_, [](const auto& entry) { return !entry.second.is_stopped; });
  return !threads_.empty();
}

// Threads start further threads until the last one is stopped.
void StoppedThreads::stop_all(Clock::time_point until) {
  std::set<pid_t> gone;
  for (bool has_more = true; has_more;) {
    has_more = false;
    for (const pid_t id : threads_of(process_)) {
      if (threads_.contains(id) || gone.contains(id)) continue;
      if (!seize(id)) {
        gone.insert(id);
        continue;
      }
      threads_[id].id = id;
      has_more = true;
    }
    for (auto& [id, thread] : threads_) {
      if (!thread.is_stopped) wait_for(thread, until);
    }
    std::erase_if(threads_, [&](const auto& entry) {
      if (!entry.second.is_stopped) gone.insert(entry.first);
      return !entry.second.is_stopped;
    });
  }
}

// False: the thread is exiting.
bool StoppedThreads::seize(pid_t id) {
  if (ptrace(PTRACE_SEIZE, id, nullptr, nullptr) == 0) {
    ptrace(PTRACE_INTERRUPT, id, nullptr, nullptr);
    return true;
  }
  if (errno == ESRCH || has_ended(process_, id)) return false;
  throw Refusal(why_not_traced(process_));
}

// Afterwards it is stopped or gone.
void StoppedThreads::wait_for(StoppedThread& thread, Clock::time_point until) {
  for (;;) {
    int status = 0;
    const pid_t waited = waitpid(thread.id, &status, __WALL);
    if (waited == thread.id) {
      if (!WIFSTOPPED(status)) return;
      thread.is_stopped = true;
      const bool is_ours = status >> 16 == PTRACE_EVENT_STOP;
      thread.signal = is_ours ? 0 : WSTOPSIG(status);
      return;
    }
    if (waited < 0 && errno != EINTR) return;
    if (Clock::now() < until) continue;
    throw NotStopped("its thread " + std::to_string(thread.id) + " does not stop; it waits in the kernel (" +
                     state_of(process_, thread.id) + "); try again");
  }
}

void StoppedThreads::resume() noexcept {
  bool was_any_stopped = false;
  for (auto& [id, thread] : threads_) {
    if (!thread.is_stopped) continue;
    ptrace(PTRACE_DETACH, id, nullptr, static_cast<std::uintptr_t>(thread.signal));
    was_any_stopped = true;
  }
  if (was_any_stopped) stopped_ns_ = now_ns() - begin_ns_;
  std::erase_if(threads_, [](const auto& entry) { return entry.second.is_stopped; });
}

StoppedThread* StoppedThreads::caller() noexcept {
  StoppedThread* found = nullptr;
  for (auto& [id, thread] : threads_) {
    if (thread.signal != 0 || may_be_in_sequence(thread)) continue;
    if (static_cast<std::int64_t>(thread.registers.orig_rax) >= 0) return &thread;
    found = &thread;
  }
  return found;
}

}  // namespace heapwright::attach
