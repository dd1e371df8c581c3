// SPDX-License-Identifier: MIT
// A process all of whose threads stand still, with the registers that may be changed.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <chrono>
#include <cstdint>
#include <map>

#include "tracee/seized_threads.hpp"

namespace heapwright::attach {

struct StoppedThread {
  tracee::SeizedThread* seized = nullptr;
  user_regs_struct registers{};
};

class StoppedThreads {
 public:
  explicit StoppedThreads(pid_t process);

  // Refusal: the kernel forbids it, or a thread did not stop in time; then all resume. False: the process has
  // ended.
  bool stop(std::chrono::milliseconds patience);
  void resume() noexcept;

  pid_t process() const noexcept { return process_; }
  // The stopped threads, by id.
  std::map<pid_t, StoppedThread>& threads() noexcept { return threads_; }
  const std::map<pid_t, StoppedThread>& threads() const noexcept { return threads_; }

  // A thread that can make system calls for us: no signal is pending for it, and it is not in a restartable
  // sequence. One without a seccomp filter, if there is any, and none with more of them than any thread had
  // when this object was made, nor in strict mode. nullptr: there is none at the moment.
  StoppedThread* caller();

  // Whether the main thread, or another one if that has ended, has a filter that it did not have then. Also
  // while the process runs.
  bool has_new_filter() const;

  // From the first thread's stop to the last one's resumption.
  std::uint64_t stopped_ns() const noexcept { return seized_.stopped_ns(); }

 private:
  long filters_of(pid_t thread) const;

  pid_t process_;
  long filters_before_ = 0;
  tracee::SeizedThreads seized_;
  std::map<pid_t, StoppedThread> threads_;
};

}  // namespace heapwright::attach
