// SPDX-License-Identifier: MIT
// A program that we have started and that goes around in circles before its own code has run, so it can be
// attached to like any running process: in the loader, which has mapped and bound everything and has called
// no constructor; or at the program's entry point, where a loader does not say when that is.
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

  // No code has run of the program or of its libraries, except what chooses functions while they are bound.
  bool is_before_constructors() const noexcept { return is_before_constructors_; }

  // From here on it runs. Does nothing if it has ended meanwhile.
  void let_go();

 private:
  // Code of which the first bytes are replaced.
  struct Place {
    std::uint64_t address = 0;
    long original = 0;
  };

  void run_to_place();
  const Place* run_to_breakpoint(const Place& first, const Place& second);
  bool step_over(const Place& place) const;
  Place look_at(std::uint64_t address) const;
  bool put(std::uint64_t address, long code) const;

  pid_t process_;
  Place held_at_;
  bool is_before_constructors_ = false;
  bool is_held_ = true;
};

}  // namespace heapwright::collect
