// SPDX-License-Identifier: MIT
#include "tracee/seized_threads.hpp"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "tracee/process_status.hpp"

namespace heapwright::tracee {
namespace {

enum class Look : std::uint8_t { runs, stopped, gone };

bool is_our_child(pid_t process) { return number_in(read_status(process)["PPid"]) == getpid(); }

// It was killed while we had stopped it, and is on its way out: who is stopped no longer cannot be let go.
bool is_ours(pid_t thread) { return number_in(read_status(thread)["TracerPid"]) == getpid(); }

void pause_for(long nanoseconds) {
  const timespec pause{0, nanoseconds};
  nanosleep(&pause, nullptr);
}

// A thread that was killed while it was traced: nobody else is told of its end before we have taken it.
void reap(pid_t id) noexcept {
  constexpr int most_looks = 2'000;
  for (int look = 0; look < most_looks; ++look) {
    siginfo_t info{};
    const int failed =
        waitid(P_PID, static_cast<id_t>(id), &info, WEXITED | WNOHANG | static_cast<int>(__WALL));
    if (failed != 0 || info.si_pid == id) return;
    pause_for(1'000'000);
  }
}

// Only stops are taken: the end of a child is left for those who want its status. A tracer is told of a stop
// whatever it waits for.
Look look_at(SeizedThread& thread) noexcept {
  constexpr int any = WNOHANG | static_cast<int>(__WALL);
  siginfo_t info{};
  const int failed = waitid(P_PID, static_cast<id_t>(thread.id), &info, WSTOPPED | any);
  if (failed != 0 && errno != EINTR) return Look::gone;
  if (failed == 0 && info.si_pid == thread.id) {
    const bool is_ours = info.si_status >> 8 == PTRACE_EVENT_STOP;
    thread.signal = is_ours ? 0 : info.si_status & 0x7f;
    thread.is_stopped = true;
    return Look::stopped;
  }
  siginfo_t ended{};
  const bool has_ended = waitid(P_PID, static_cast<id_t>(thread.id), &ended, WEXITED | WNOWAIT | any) == 0 &&
                         ended.si_pid == thread.id && ended.si_code != CLD_TRAPPED;
  return has_ended ? Look::gone : Look::runs;
}

Look wait_for(SeizedThread& thread, std::chrono::steady_clock::time_point until) {
  for (long pause_ns = 2'000;; pause_ns = std::min(pause_ns * 2, 1'000'000L)) {
    const Look look = look_at(thread);
    if (look != Look::runs || std::chrono::steady_clock::now() >= until) return look;
    pause_for(pause_ns);
  }
}

}  // namespace

SeizedThreads::Outcome SeizedThreads::stop(std::chrono::milliseconds patience) {
  begin_ = Clock::now();
  end_ = {};
  const Outcome outcome = stop_all(begin_ + patience);
  if (outcome != Outcome::stopped) resume();
  return outcome;
}

std::string SeizedThreads::why_not(Outcome outcome) const {
  if (outcome == Outcome::forbidden) return why_not_traced(process_);
  if (outcome != Outcome::late) return it_has_ended;
  return "its thread " + std::to_string(late_thread_) + " does not stop; it waits in the kernel (" +
         state_of(process_, late_thread_) + "); try again";
}

// Threads start further threads until the last one is stopped.
SeizedThreads::Outcome SeizedThreads::stop_all(Clock::time_point until) {
  std::map<pid_t, bool> is_gone;
  for (bool has_more = true; has_more;) {
    has_more = false;
    if (!seize_new(is_gone, has_more)) {
      return has_no_memory(process_) ? Outcome::ended : Outcome::forbidden;
    }
    for (auto at = threads_.begin(); at != threads_.end();) {
      SeizedThread& thread = (at++)->second;
      if (thread.is_stopped) continue;
      const Look look = wait_for(thread, until);
      if (look == Look::runs) {
        late_thread_ = thread.id;
        return Outcome::late;
      }
      if (look != Look::gone) continue;
      is_gone[thread.id] = true;
      forget(thread.id);
    }
  }
  return threads_.empty() ? Outcome::ended : Outcome::stopped;
}

// All before any is waited for, so that they stop beside each other. False: the kernel forbids it.
bool SeizedThreads::seize_new(std::map<pid_t, bool>& is_gone, bool& has_more) {
  for (const pid_t id : threads_of(process_)) {
    if (threads_.contains(id) || is_gone.contains(id)) continue;
    if (ptrace(PTRACE_SEIZE, id, nullptr, nullptr) != 0) {
      if (errno != ESRCH && !has_ended(process_, id) && !is_ours(id)) return false;
      is_gone[id] = true;
      continue;
    }
    ptrace(PTRACE_INTERRUPT, id, nullptr, nullptr);
    threads_[id].id = id;
    has_more = true;
  }
  return true;
}

// Its end is told to nobody before we have taken it: that of the main thread after all others'.
void SeizedThreads::forget(pid_t id) noexcept {
  threads_.erase(id);
  if (id == process_) {
    is_main_gone_ = true;
  } else {
    reap(id);
  }
}

void SeizedThreads::let_go(const SeizedThread& thread) noexcept {
  const long failed = ptrace(PTRACE_DETACH, thread.id, nullptr, static_cast<std::uintptr_t>(thread.signal));
  if (failed == 0) return;
  if (thread.id == process_) {
    is_main_gone_ = true;
  } else {
    reap(thread.id);
  }
}

void SeizedThreads::resume() noexcept {
  bool was_any_stopped = false;
  for (const auto& [id, thread] : threads_) {
    if (!thread.is_stopped) continue;
    let_go(thread);
    was_any_stopped = true;
  }
  if (was_any_stopped) end_ = Clock::now();
  std::erase_if(threads_, [](const auto& entry) { return entry.second.is_stopped; });
  tell_main_end();
}

void SeizedThreads::tell_main_end() noexcept {
  if (std::exchange(is_main_gone_, false) && !is_our_child(process_)) reap(process_);
}

bool SeizedThreads::release_late() noexcept {
  for (auto at = threads_.begin(); at != threads_.end();) {
    const bool is_late = look_at(at->second) == Look::runs;
    if (!is_late) let_go(at->second);
    at = is_late ? std::next(at) : threads_.erase(at);
  }
  tell_main_end();
  return !threads_.empty();
}

std::uint64_t SeizedThreads::stopped_ns() const noexcept {
  const Clock::time_point until = end_ == Clock::time_point() ? Clock::now() : end_;
  return static_cast<std::uint64_t>((until - begin_) / std::chrono::nanoseconds(1));
}

}  // namespace heapwright::tracee
