// SPDX-License-Identifier: MIT
// Stops and resumes all threads of a process. Not thread-safe: the kernel accepts requests only from the
// thread that stopped them. When this program ends, the threads resume by themselves.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <chrono>
#include <cstdint>
#include <map>

namespace heapwright::attach {

struct StoppedThread {
  pid_t id = 0;
  bool is_stopped = false;
  int signal = 0;  // was about to be delivered when the thread stopped; delivered when it resumes
  user_regs_struct registers{};
};

class StoppedThreads {
 public:
  explicit StoppedThreads(pid_t process) : process_(process) {}
  ~StoppedThreads() { resume(); }
  StoppedThreads(const StoppedThreads&) = delete;
  StoppedThreads& operator=(const StoppedThreads&) = delete;

  // Refusal: the kernel forbids it, or a thread did not stop in time; then all resume. False: the process has
  // ended.
  bool stop(std::chrono::milliseconds patience);
  void resume() noexcept;

  // The stopped threads, by id.
  std::map<pid_t, StoppedThread>& threads() noexcept { return threads_; }
  const std::map<pid_t, StoppedThread>& threads() const noexcept { return threads_; }

  // A thread that can make system calls for us: no signal is pending for it, and it is not in a restartable
  // sequence. nullptr: there is none at the moment.
  StoppedThread* caller() noexcept;

  // From the first thread's stop to the last one's resumption.
  std::uint64_t stopped_ns() const noexcept { return stopped_ns_; }

 private:
  void stop_all(std::chrono::steady_clock::time_point until);
  bool seize(pid_t id);
  void wait_for(StoppedThread& thread, std::chrono::steady_clock::time_point until);

  pid_t process_;
  // Threads that are not stopped remain from a stop that took too long.
  std::map<pid_t, StoppedThread> threads_;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t stopped_ns_ = 0;
};

}  // namespace heapwright::attach
