// SPDX-License-Identifier: MIT
// A server that gives up its privileges: started by root, it becomes user
// 65534, closes every descriptor, forks workers and executes itself. In the
// end every process is a leaf that makes the same calls. "forks": no exec, and
// the second child does nothing.
#include <sys/wait.h>

#include "say.hpp"

namespace {

void do_work() {
  for (int i = 0; i < 10; ++i) std::free(keep(std::malloc(3001)));
}

}  // namespace

int main(int argc, char** argv) {
  const bool forks_only = argc > 1 && std::strcmp(argv[1], "forks") == 0;
  if (argc > 1 && !forks_only) {
    do_work();
    return 0;
  }
  REQUIRE(setgid(65534) == 0 && setuid(65534) == 0);
  for (int descriptor = 3; descriptor < 1024; ++descriptor) close(descriptor);
  pid_t children[2];
  for (int i = 0; i < 2; ++i) {
    children[i] = fork();
    REQUIRE(children[i] >= 0);
    if (children[i] != 0) continue;
    if (i == 0 || forks_only) {
      if (i == 0) do_work();
      _exit(0);
    }
    char leaf[] = "leaf";
    char* arguments[] = {argv[0], leaf, nullptr};
    execv(argv[0], arguments);
    _exit(113);
  }
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
  }
  do_work();
  say("note user %d\n", static_cast<int>(getuid()));
  return 0;
}
