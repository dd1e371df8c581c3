// SPDX-License-Identifier: MIT
// A program that we have started and that goes around in circles at its entry point: the loader has done its
// work, and of the program's own code nothing has run. So it can be attached to like any running process.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace heapwright::collect {

class HeldProgram {
 public:
  // `process`: of a Launch that is held, let go before. NotAttached: it cannot be held.
  explicit HeldProgram(pid_t process);
  // A program that was not let go is killed, and reaped.
  ~HeldProgram();
  HeldProgram(const HeldProgram&) = delete;
  HeldProgram& operator=(const HeldProgram&) = delete;

  // From here on it runs. Does nothing if it has ended meanwhile.
  void let_go();

 private:
  void run_to_entry();
  bool run_to_breakpoint();
  long code_at_entry() const;
  bool put(long code) const;

  pid_t process_;
  std::uint64_t entry_ = 0;
  long original_ = 0;
  bool is_held_ = true;
};

}  // namespace heapwright::collect
