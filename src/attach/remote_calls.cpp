// SPDX-License-Identifier: MIT
#include "attach/remote_calls.hpp"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "attach/refusal.hpp"

// Defined by glibc since 2.18, and by musl under these names as well.
#ifndef PTRACE_GETSIGMASK
#define PTRACE_GETSIGMASK static_cast<__ptrace_request>(0x420a)
#define PTRACE_SETSIGMASK static_cast<__ptrace_request>(0x420b)
#endif

namespace heapwright::attach {
namespace {

void check(long result, pid_t thread) {
  if (result == 0) return;
  throw Refusal("its thread " + std::to_string(thread) + " ended while it was stopped");
}

}  // namespace

long RemoteCalls::call(long number, const std::uint64_t (&arguments)[6]) {
  const pid_t id = thread_.seized->id;
  std::uint64_t mask = 0;
  const std::uint64_t all = ~std::uint64_t{0};
  check(ptrace(PTRACE_GETSIGMASK, id, sizeof mask, &mask), id);
  check(ptrace(PTRACE_SETSIGMASK, id, sizeof all, &all), id);
  user_regs_struct registers = thread_.registers;
  registers.rip = instruction_;
  registers.rax = static_cast<std::uint64_t>(number);
  registers.orig_rax = ~std::uint64_t{0};  // the kernel must not restart an interrupted call
  registers.rdi = arguments[0];
  registers.rsi = arguments[1];
  registers.rdx = arguments[2];
  registers.r10 = arguments[3];
  registers.r8 = arguments[4];
  registers.r9 = arguments[5];
  check(ptrace(PTRACE_SETREGS, id, nullptr, &registers), id);
  step();
  check(ptrace(PTRACE_GETREGS, id, nullptr, &registers), id);
  check(ptrace(PTRACE_SETREGS, id, nullptr, &thread_.registers), id);
  check(ptrace(PTRACE_SETSIGMASK, id, sizeof mask, &mask), id);
  return static_cast<long>(registers.rax);
}

void RemoteCalls::step() {
  for (;;) {
    check(ptrace(PTRACE_SINGLESTEP, thread_.seized->id, nullptr, nullptr), thread_.seized->id);
    int status = 0;
    pid_t waited = 0;
    do {
      waited = waitpid(thread_.seized->id, &status, __WALL);
    } while (waited < 0 && errno == EINTR);
    if (waited != thread_.seized->id || !WIFSTOPPED(status)) {
      thread_.seized->is_stopped = false;
      if (waited == thread_.seized->id && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) {
        throw Refusal("its seccomp filter killed it for a system call that was made in it");
      }
      check(-1, thread_.seized->id);
    }
    if (status >> 16 == 0 && WSTOPSIG(status) == SIGTRAP) return;
    // SIGSTOP cannot be blocked: it stays pending until the thread continues.
    if (status >> 16 == 0) thread_.seized->signal = WSTOPSIG(status);
  }
}

void check_call(long result, const char* what) {
  if (result >= 0 || result < -4095) return;
  throw Refusal(std::string("it may not ") + what + ": " + std::strerror(static_cast<int>(-result)));
}

}  // namespace heapwright::attach
