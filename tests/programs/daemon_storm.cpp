// SPDX-License-Identifier: MIT
// Starts daemons, as often as given, and ends at once: each is forked twice,
// leaves its parents behind and makes its first heap call a moment later.
// A third argument "killed" has each intermediate process die by SIGKILL.
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "say.hpp"

namespace {

[[noreturn]] void run_daemon(int milliseconds) {
  setsid();
  const timespec pause{milliseconds / 1000, milliseconds % 1000 * 1'000'000L};
  nanosleep(&pause, nullptr);
  std::free(keep(std::malloc(3019)));
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  const int total = argc > 1 ? std::atoi(argv[1]) : 1000;
  const int milliseconds = argc > 2 ? std::atoi(argv[2]) : 100;
  const bool is_killed = argc > 3;
  for (int i = 0; i < total; ++i) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const pid_t grandchild = fork();
      if (grandchild == 0) run_daemon(milliseconds);
      if (is_killed) raise(SIGKILL);
      _exit(grandchild > 0 ? 0 : 1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child && (is_killed || status == 0));
  }
  std::free(keep(std::malloc(3001)));
  say("note daemons %d\nnote children %d\n", total, 2 * total);
  return 0;
}
