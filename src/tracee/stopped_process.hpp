// SPDX-License-Identifier: MIT
// A process all of whose threads stand still, and their registers. Nothing in it is changed, and
// no signal or timer of ours is used. When this program ends, the threads resume by themselves.
//
// The kernel accepts requests only from the thread that stopped the process.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heapwright::tracee {

struct StoppedThread {
  pid_t id = 0;
  int signal = 0;  // was about to be delivered; delivered when the thread resumes
  // As the kernel has them: the general ones, then those of vectors.
  std::vector<std::uint64_t> registers;
  std::uint64_t stack_pointer = 0;
  std::uint64_t thread_pointer = 0;  // thread-local variables are around it
};

class StoppedProcess {
 public:
  explicit StoppedProcess(pid_t process) : process_(process) {}
  ~StoppedProcess() { resume(); }
  StoppedProcess(const StoppedProcess&) = delete;
  StoppedProcess& operator=(const StoppedProcess&) = delete;

  // Returns why it did not stop, in one line; then it runs on. "": it has stopped.
  std::string stop(std::chrono::milliseconds patience);
  void resume() noexcept;

  const std::vector<StoppedThread>& threads() const noexcept { return threads_; }
  std::uint64_t stopped_ns() const noexcept;

  pid_t id() const noexcept { return process_; }

 private:
  std::string stop_all(std::chrono::steady_clock::time_point until);
  std::string stop_one(pid_t id, std::chrono::steady_clock::time_point until);
  static bool wait_for(StoppedThread& thread, std::chrono::steady_clock::time_point until);

  pid_t process_;
  std::vector<StoppedThread> threads_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace heapwright::tracee
