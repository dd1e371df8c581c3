// SPDX-License-Identifier: MIT
// A launcher like a container's: perf_event_open answers with this error in the program and all that it
// starts.
//
//   forbids_perf ERRNO PROGRAM [ARGUMENT...]
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const auto answer = SECCOMP_RET_ERRNO | (static_cast<unsigned>(std::atoi(arguments[1])) & SECCOMP_RET_DATA);
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, answer),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{sizeof code / sizeof *code, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    return 3;
  }
  execvp(arguments[2], arguments + 2);
  std::perror(arguments[2]);
  return 4;
}
