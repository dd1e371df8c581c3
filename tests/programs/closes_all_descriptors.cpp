// SPDX-License-Identifier: MIT
// Closes every descriptor but the standard ones, as daemons do, and goes on
// allocating, in new threads and after a fork too.
#include <sys/wait.h>

#include <thread>

#include "say.hpp"

int main() {
  keep(std::malloc(3001));
  for (int descriptor = 3; descriptor < 4096; ++descriptor) ::close(descriptor);
  for (int i = 0; i < 100; ++i) std::free(keep(std::malloc(3011)));
  std::thread([] { std::free(keep(std::malloc(3019))); }).join();
  const pid_t child = fork();
  if (child == 0) {
    std::free(keep(std::malloc(3023)));
    _exit(0);
  }
  int status = 1;
  REQUIRE(waitpid(child, &status, 0) == child && status == 0);
  say("allocated 1 3001 malloc\nallocated 100 3011 malloc\nreleased 100 3011 free\n");
  say("allocated 1 3019 malloc\nreleased 1 3019 free\nnote children 1\n");
  return 0;
}
