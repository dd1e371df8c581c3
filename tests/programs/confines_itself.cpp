// SPDX-License-Identifier: MIT
// A sandbox as strict as they come: after its start, only write and the end of the program are allowed, and
// any other system call kills it. Its heap calls need none.
//
//   confines_itself prctl|syscall|raw|soon|strict PAIRS [fork] [child]   more pairs than a ring holds
//   "soon" is "raw" at once, before anybody has looked at the process. With "fork", clone and wait4 are
//   allowed too, and a child makes the pairs. With "child", all of it happens in a child of the first
//   process.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <string>

#include "say.hpp"

namespace {

constexpr int good_code = 4;

long raw(long number, long a, long b, long c) {
  long result;
  asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}

// Other code than libc's installs it: nothing of the process sees that. /proc shows the process for a while
// without it, unless that is to be soon, and with it.
long install_unseen(const sock_fprog& filter, bool soon) {
  if (!soon) usleep(200'000);
  const long result = raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, reinterpret_cast<long>(&filter));
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const time_t until = now.tv_sec + 2;
  while (now.tv_sec < until) clock_gettime(CLOCK_MONOTONIC, &now);
  return result;
}

long confine(const std::string& way, const sock_fprog& filter) {
  if (way == "strict") return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  if (way == "prctl") return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
  if (way == "syscall") return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
  return install_unseen(filter, way == "soon");
}

// Returns in the child; the parent ends as it does.
void go_on_in_child() {
  const pid_t child = fork();
  if (child == 0) return;
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  std::exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

[[gnu::noinline]] void make_pair(std::size_t size) { std::free(keep(std::malloc(size))); }

[[gnu::noinline]] void make_pairs(long pairs) {
  for (long i = 0; i < pairs; ++i) make_pair(28'003);
}

}  // namespace

int main(int count, char** arguments) {
  REQUIRE(count >= 3);
  const long pairs = std::atol(arguments[2]);
  const bool forks = count > 3 && arguments[3] == std::string("fork");
  if (arguments[count - 1] == std::string("child")) go_on_in_child();
  make_pair(1U << 20U);  // so that the break need not move again
  for (int i = 0; i < 100; ++i) make_pair(28'001);
  say("allocated 100 28001 malloc\nreleased 100 28001 free\n");
  const auto or_kill = static_cast<unsigned>(SECCOMP_RET_KILL_PROCESS);
  const unsigned for_fork = forks ? SECCOMP_RET_ALLOW : or_kill;
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 6, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_wait4, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_set_robust_list, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, or_kill),
      BPF_STMT(BPF_RET | BPF_K, for_fork),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{sizeof code / sizeof *code, code};
  REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  REQUIRE(confine(arguments[1], filter) == 0);
  const pid_t child = forks ? fork() : -1;
  if (child <= 0) make_pairs(pairs);
  if (child == 0) raw(SYS_exit_group, 0, 0, 0);
  if (forks) {
    int status = 0;
    REQUIRE(wait4(child, &status, 0, nullptr) == child);
    say("note child %d\n", status);
    make_pairs(pairs);
  }
  say("allocated %ld 28003 malloc\nreleased %ld 28003 free\n", pairs, pairs);
  if (arguments[1] == std::string("strict")) raw(SYS_exit, good_code, 0, 0);
  std::exit(good_code);  // through what runs at exit
}
