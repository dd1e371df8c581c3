// SPDX-License-Identifier: MIT
// Starts the program to be recorded as a child that inherits everything (signal mask and dispositions,
// limits, open files, working folder) as if the user had started it directly.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace heapwright::collect {

// The child exists from construction on, before the collector changes its own state, and waits for let_go().
class Launch {
 public:
  // `library`, one or several separated by colons, is prepended to LD_PRELOAD. Empty: nothing is preloaded,
  // and the program is held: we trace it, and it stops at its exec.
  Launch(std::string path, std::vector<std::string> arguments, std::string library);
  // Without let_go() the program never starts.
  ~Launch();
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  pid_t process_id() const noexcept { return process_id_; }

  // Starts the program with HEAPWRIGHT_SESSION = `session_text` (not if it is held). Returns 0, or the errno
  // of the failure; then the child is gone.
  int let_go(const std::string& session_text);

 private:
  [[noreturn]] void run_child();
  bool prepare(const std::string& session_text) const;

  std::string path_;
  std::vector<std::string> arguments_;
  std::string library_;
  pid_t process_id_ = -1;
  int fork_error_ = 0;
  int session_pipe_[2] = {-1, -1};
  int error_pipe_[2] = {-1, -1};
};

// Until the child ends; as waitpid().
int wait_for_end(pid_t process);

// 128 + signal for a killed program, like a shell. `wait_status` as from waitpid().
int exit_code_of(int wait_status);

}  // namespace heapwright::collect
