// SPDX-License-Identifier: MIT
// A child of fork that clears its environment before its first heap call, as daemons do.
#include <sys/wait.h>

#include "say.hpp"

int main() {
  std::free(keep(std::malloc(3001)));
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    clearenv();
    for (int i = 0; i < 10; ++i) std::free(keep(std::malloc(3003)));
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child && status == 0);
  say("allocated 1 3001 malloc\nallocated 10 3003 malloc\n");
  return 0;
}
