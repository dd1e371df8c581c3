// SPDX-License-Identifier: MIT
// System calls made by a stopped thread of another process: a single step over an existing `syscall`
// instruction, after which its registers and signal mask are restored. Writes nothing and uses no stack.
#pragma once

#include <cstdint>

#include "attach/stopped_threads.hpp"

namespace heapwright::attach {

class RemoteCalls {
 public:
  // instruction: address of a `syscall` in the process.
  RemoteCalls(StoppedThread& thread, std::uint64_t instruction)
      : thread_(thread), instruction_(instruction) {}

  // Its result, below 0 -errno. Refusal: the process ended meanwhile.
  template <typename... Arguments>
  long operator()(long number, Arguments... arguments) {
    const std::uint64_t values[6] = {static_cast<std::uint64_t>(arguments)...};
    return call(number, values);
  }

 private:
  long call(long number, const std::uint64_t (&arguments)[6]);
  void step();

  StoppedThread& thread_;
  std::uint64_t instruction_;
};

// Throws a Refusal "it may not WHAT" if a call failed.
void check_call(long result, const char* what);

}  // namespace heapwright::attach
