// SPDX-License-Identifier: MIT
// vfork and exec, posix_spawn, and system: three ways to a child.
#include <spawn.h>
#include <sys/wait.h>

#include "say.hpp"

namespace {

char name[] = "true";
char* arguments[] = {name, nullptr};

void wait_for(pid_t child) {
  int status = 1;
  REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

void run_by_vfork() {
  const pid_t child = vfork();
  if (child == 0) {
    execve("/bin/true", arguments, environ);
    _exit(113);
  }
  wait_for(child);
}

void run_by_spawn() {
  pid_t child = 0;
  REQUIRE(posix_spawn(&child, "/bin/true", nullptr, nullptr, arguments, environ) == 0);
  wait_for(child);
}

}  // namespace

int main() {
  constexpr int rounds = 20;
  for (int i = 0; i < rounds; ++i) {
    std::free(keep(std::malloc(3001)));
    run_by_vfork();
    run_by_spawn();
  }
  REQUIRE(std::system("exit 3") == 3 << 8);
  std::free(keep(std::malloc(3011)));
  say("allocated %d 3001 malloc\nreleased %d 3001 free\n", rounds, rounds);
  say("allocated 1 3011 malloc\nreleased 1 3011 free\nnote children %d\n", 2 * rounds + 1);
  return 0;
}
