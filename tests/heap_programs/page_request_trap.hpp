// SPDX-License-Identifier: MIT
// The system's page requests of this process, carried out by a function of the
// program's: a seccomp filter traps mmap, mremap, mprotect, madvise and munmap,
// and the handler answers for the kernel. Not for threads that block SIGSYS.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <cstdint>

#include "public_names.hpp"

// One syscall instruction at a known place: the filter lets it pass.
asm(R"(
.text
.globl permitted_syscall
.globl permitted_end
permitted_syscall:
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
  mov %r8, %r10
  mov %r9, %r8
  mov 8(%rsp), %r9
  syscall
permitted_end:
  ret
)");
extern "C" long permitted_syscall(long number, long, long, long, long, long, long);
extern "C" char permitted_end[];

struct PageRequest {
  long number;
  long arguments[6];
  const void* caller;  // behind the syscall instruction

  long carry_out() const {
    return permitted_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                             arguments[5]);
  }
};

// What the kernel would return; set before trap_page_requests().
inline long (*answer_page_request)(PageRequest& request) = nullptr;

inline void on_page_request(int, siginfo_t*, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  PageRequest request{registers[REG_RAX],
                      {registers[REG_RDI], registers[REG_RSI], registers[REG_RDX], registers[REG_R10],
                       registers[REG_R8], registers[REG_R9]},
                      reinterpret_cast<const void*>(registers[REG_RIP])};
  const int before = errno;
  registers[REG_RAX] = answer_page_request(request);
  errno = before;
}

inline void trap_page_requests() {
  struct sigaction action {};
  action.sa_sigaction = on_page_request;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  REQUIRE(sigaction(SIGSYS, &action, nullptr) == 0);
  const auto end = reinterpret_cast<std::uintptr_t>(permitted_end);
  constexpr unsigned place = offsetof(seccomp_data, instruction_pointer);
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, place),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(end), 0, 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, place + 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(end >> 32), 6, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_munmap, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
  };
  const sock_fprog program{sizeof(code) / sizeof(*code), code};
  REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}
