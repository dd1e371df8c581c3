// SPDX-License-Identifier: MIT
// A program that we have started and that goes around in circles at its entry point: the loader has done its
// work, and of the program's own code nothing has run. So it can be attached to like any running process.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "collect/options.hpp"

namespace heapwright::collect {

// It cannot be held at its entry, and was ended there. What to do is in the text.
class NotHeld : public UsageError {
 public:
  using UsageError::UsageError;
};

class HeldProgram {
 public:
  // `process`: of a Launch that is held, let go before. NotHeld: it cannot be held; it is gone then.
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
