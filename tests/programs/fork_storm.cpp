// SPDX-License-Identifier: MIT
// Forks 1,000 times (or as often as given), ten children alive at a time;
// a child allocates on its own and frees a block of its parent.
#include <sys/wait.h>

#include "say.hpp"

int main(int argc, char** argv) {
  const int total = argc > 1 ? std::atoi(argv[1]) : 1000;
  void* inherited = keep(std::malloc(3011));
  int alive = 0;
  for (int i = 0; i < total; ++i) {
    std::free(keep(std::malloc(3001)));
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      std::free(keep(std::malloc(3019)));
      std::free(inherited);
      _exit(0);
    }
    if (++alive == 10) {
      REQUIRE(wait(nullptr) > 0);
      --alive;
    }
  }
  while (wait(nullptr) > 0) {
  }
  std::free(inherited);
  say("allocated %d 3001 malloc\nreleased %d 3001 free\n", total, total);
  say("allocated 1 3011 malloc\nreleased 1 3011 free\nnote children %d\n", total);
  return 0;
}
