// SPDX-License-Identifier: MIT
// A process all of whose threads stand still, and their registers.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tracee/seized_threads.hpp"

namespace heapwright::tracee {

struct StoppedThread {
  pid_t id = 0;
  // As the kernel has them: the general ones, then those of vectors.
  std::vector<std::uint64_t> registers;
  std::uint64_t stack_pointer = 0;
  std::uint64_t thread_pointer = 0;  // thread-local variables are around it
};

class StoppedProcess {
 public:
  explicit StoppedProcess(pid_t process) : seized_(process) {}

  // Returns why it did not stop, in one line; then it runs on. "": it has stopped.
  std::string stop(std::chrono::milliseconds patience);
  void resume() noexcept;
  // As of SeizedThreads.
  bool release_late() noexcept { return seized_.release_late(); }

  const std::vector<StoppedThread>& threads() const noexcept { return threads_; }
  std::uint64_t stopped_ns() const noexcept { return seized_.stopped_ns(); }
  pid_t id() const noexcept { return seized_.process(); }

 private:
  SeizedThreads seized_;
  std::vector<StoppedThread> threads_;
};

}  // namespace heapwright::tracee
