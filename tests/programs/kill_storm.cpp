// SPDX-License-Identifier: MIT
// Forks, as often as given, and kills every child by SIGKILL at another
// moment: before its first instruction, in its heap calls, in its exec.
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "say.hpp"

int main(int argc, char** argv) {
  const int total = argc > 1 ? std::atoi(argv[1]) : 1000;
  for (int i = 0; i < total; ++i) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (int call = 0; call < 20; ++call) std::free(keep(std::malloc(3019)));
      if (i % 2 == 0) execlp("true", "true", nullptr);
      _exit(0);
    }
    const timespec pause{0, i % 20 * 50'000L};
    if (i % 20 != 0) nanosleep(&pause, nullptr);
    REQUIRE(kill(child, SIGKILL) == 0 && waitpid(child, nullptr, 0) == child);
  }
  std::free(keep(std::malloc(3001)));
  say("note children %d\n", total);
  return 0;
}
