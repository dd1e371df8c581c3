// SPDX-License-Identifier: MIT
#include "collect/launch.hpp"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "collect/write_all.hpp"
#include "session/layout.hpp"

namespace heapwright::collect {
namespace {

constexpr int not_started_code = 127;

void close_both(int (&pipe_ends)[2]) {
  for (int& end : pipe_ends) {
    if (end >= 0) close(end);
    end = -1;
  }
}

// All bytes until the other end closes.
std::string read_all(int file) {
  std::string text;
  char part[256];
  for (;;) {
    const ssize_t length = read(file, part, sizeof part);
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) return text;
    text.append(part, static_cast<std::size_t>(length));
  }
}

}  // namespace

Launch::Launch(std::string path, std::vector<std::string> arguments, std::string library)
    : path_(std::move(path)), arguments_(std::move(arguments)), library_(std::move(library)) {
  if (pipe2(session_pipe_, O_CLOEXEC) != 0 || pipe2(error_pipe_, O_CLOEXEC) != 0) {
    fork_error_ = errno;
    return;
  }
  process_id_ = fork();
  if (process_id_ < 0) fork_error_ = errno;
  if (process_id_ == 0) run_child();
  close(std::exchange(session_pipe_[0], -1));
  close(std::exchange(error_pipe_[1], -1));
}

Launch::~Launch() {
  const bool was_let_go = session_pipe_[1] < 0;
  close_both(session_pipe_);
  close_both(error_pipe_);
  if (!was_let_go && process_id_ > 0) waitpid(process_id_, nullptr, 0);
}

void Launch::run_child() {
  close(session_pipe_[1]);
  close(error_pipe_[0]);
  const std::string session_text = read_all(session_pipe_[0]);
  if (session_text.empty()) _exit(not_started_code);
  std::vector<char*> arguments;
  arguments.reserve(arguments_.size() + 1);
  for (std::string& argument : arguments_) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  if (prepare(session_text)) execv(path_.c_str(), arguments.data());
  const int error_number = errno;
  write_all(error_pipe_[1], &error_number, sizeof error_number);
  _exit(not_started_code);
}

// In the child. False: see errno.
bool Launch::prepare(const std::string& session_text) const {
  if (library_.empty()) {
    // Where Yama lets only parents trace, heapwright-attach, our parent's child, may as well.
    prctl(PR_SET_PTRACER, getppid());
    return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0;
  }
  const char* other = getenv("LD_PRELOAD");
  const std::string preload = other != nullptr && *other != '\0' ? library_ + ":" + other : library_;
  return setenv("LD_PRELOAD", preload.c_str(), 1) == 0 &&
         setenv(session::session_variable, session_text.c_str(), 1) == 0;
}

int Launch::let_go(const std::string& session_text) {
  if (fork_error_ != 0) return fork_error_;
  const bool is_sent = write_all(session_pipe_[1], session_text.data(), session_text.size());
  close(std::exchange(session_pipe_[1], -1));
  int error_number = is_sent ? 0 : EPIPE;
  const std::string answer = read_all(error_pipe_[0]);
  if (answer.size() == sizeof error_number) {
    answer.copy(reinterpret_cast<char*>(&error_number), sizeof error_number);
  }
  close(std::exchange(error_pipe_[0], -1));
  if (error_number != 0) waitpid(process_id_, nullptr, 0);
  return error_number;
}

int wait_for_end(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

int exit_code_of(int wait_status) {
  if (WIFEXITED(wait_status)) return WEXITSTATUS(wait_status);
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : 0;
}

}  // namespace heapwright::collect
