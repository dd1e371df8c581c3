// SPDX-License-Identifier: MIT
// Linked with the heap, not preloaded, so that it may be a setuid program: what
// its caller put into the environment has no effect and makes no file.
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "../programs/say.hpp"

int main() {
  std::free(keep(std::malloc(100)));
  char name[64];
  std::snprintf(name, sizeof name, "/dev/shm/heapwright-%d", static_cast<int>(getpid()));
  struct stat found {};
  say("elevated %lu file %d\n", getauxval(AT_SECURE), stat(name, &found) == 0 ? 1 : 0);
  return 0;
}
