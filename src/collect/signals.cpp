// SPDX-License-Identifier: MIT
#include "collect/signals.hpp"

#include <errno.h>
#include <signal.h>

#include <atomic>

namespace heapwright::collect {
namespace {

std::atomic<pid_t> forward_to{0};
std::atomic<bool> asked_to_end{false};
std::atomic<bool> child_ended{false};

void on_signal(int signal_number, siginfo_t* info, void*) {
  if (signal_number == SIGCHLD) {
    child_ended.store(true);
    return;
  }
  const pid_t program = forward_to.load();
  if (program <= 0) {
    if (signal_number != SIGUSR1 && signal_number != SIGUSR2) asked_to_end.store(true);
    return;
  }
  // Terminal keys and hangups go to the whole process group.
  const bool is_from_terminal = info->si_code == SI_KERNEL;
  const int saved_errno = errno;
  if (!is_from_terminal && info->si_pid != program) kill(program, signal_number);
  errno = saved_errno;
}

}  // namespace

void watch_signals(pid_t program) {
  forward_to.store(program);
  asked_to_end.store(false);
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO;
  for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD}) {
    sigaction(number, &action, nullptr);
  }
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  for (const int number : {SIGPIPE, SIGXFSZ}) sigaction(number, &ignore, nullptr);
  // An inherited signal mask must not hide the program's end from us.
  sigset_t all;
  sigemptyset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
}

void stop_forwarding() { forward_to.store(0); }

bool has_child_ended() { return child_ended.load(); }

bool consume_child_ended() { return child_ended.exchange(false); }

bool is_asked_to_end() { return asked_to_end.load(); }

}  // namespace heapwright::collect
