// SPDX-License-Identifier: MIT
// Signals while a program is being recorded. A terminal's signals reach the program directly, so the
// collector ignores them and finishes the traces; signals sent to the collector alone are forwarded.
#pragma once

#include <signal.h>
#include <sys/types.h>

namespace heapwright::collect {

// Takes over SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD and turns SIGPIPE and SIGXFSZ into
// errors of the write that caused them. Must be called after the program was forked.
void watch_signals(pid_t program);

// From now on SIGINT, SIGQUIT, SIGTERM and SIGHUP end the recording.
void stop_forwarding();

// Whether one of those has arrived since.
bool is_asked_to_end();

// Whether a child has ended since the last call of consume_child_ended().
bool has_child_ended();
bool consume_child_ended();

// Threads that are started meanwhile handle no signals: those are for the thread that forwards them.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace heapwright::collect
