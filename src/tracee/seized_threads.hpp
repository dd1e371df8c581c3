// SPDX-License-Identifier: MIT
// Stops and resumes all threads of a process. Nothing in it is changed, and no signal or timer of ours is
// used. When this program ends, the threads resume by themselves.
//
// Not thread-safe: the kernel accepts requests only from the thread that stopped them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace heapwright::tracee {

struct SeizedThread {
  pid_t id = 0;
  bool is_stopped = false;
  int signal = 0;  // was about to be delivered when the thread stopped; delivered when it resumes
};

class SeizedThreads {
 public:
  explicit SeizedThreads(pid_t process) : process_(process) {}
  ~SeizedThreads() { resume(); }
  SeizedThreads(const SeizedThreads&) = delete;
  SeizedThreads& operator=(const SeizedThreads&) = delete;

  enum class Outcome : std::uint8_t {
    stopped,
    ended,      // it has no threads any longer
    forbidden,  // by the kernel
    late,       // a thread did not stop in time
  };
  // Unless all have stopped, all run on.
  Outcome stop(std::chrono::milliseconds patience);
  // Of an outcome other than stopped, what to do included: "it has ended".
  std::string why_not(Outcome outcome) const;
  void resume() noexcept;

  // A thread that was late stops as soon as it leaves the kernel, and would stand still for ever: lets it go.
  // Call this now and then until it returns false: there is none left. stop() waits for these threads again.
  bool release_late() noexcept;

  // Those that are stopped, by id; after stop(). Their places stay until resume().
  std::map<pid_t, SeizedThread>& threads() noexcept { return threads_; }
  const std::map<pid_t, SeizedThread>& threads() const noexcept { return threads_; }

  // Since the first thread's stop; after resume(), up to the last one's resumption.
  std::uint64_t stopped_ns() const noexcept;
  pid_t process() const noexcept { return process_; }

 private:
  using Clock = std::chrono::steady_clock;

  Outcome stop_all(Clock::time_point until);
  bool seize_new(std::map<pid_t, bool>& is_gone, bool& has_more);
  void forget(pid_t id) noexcept;
  void tell_main_end() noexcept;
  void let_go(const SeizedThread& thread) noexcept;

  pid_t process_;
  std::map<pid_t, SeizedThread> threads_;  // stopped ones, and late ones
  pid_t late_thread_ = 0;                  // that stop() gave up for
  bool is_main_gone_ = false;              // and nobody has been told yet
  Clock::time_point begin_;
  Clock::time_point end_;
};

}  // namespace heapwright::tracee
