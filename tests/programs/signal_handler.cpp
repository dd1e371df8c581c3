// SPDX-License-Identifier: MIT
// A timer's handler makes heap calls while the program is inside others. It
// uses the two calls that take no allocator lock, so that the program is
// sound without a recorder too.
#include <malloc.h>
#include <sys/time.h>

#include <cerrno>
#include <csignal>

#include "say.hpp"

namespace {

void* known_block = nullptr;
volatile long handled = 0;

void handle(int) {
  const int kept = errno;
  std::free(nullptr);
  malloc_usable_size(known_block);
  handled = handled + 1;
  errno = kept;
}

}  // namespace

int main() {
  known_block = std::malloc(3011);
  struct sigaction action = {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval every = {{0, 200}, {0, 200}};
  setitimer(ITIMER_REAL, &every, nullptr);
  constexpr int pairs = 400'000;
  for (int i = 0; i < pairs; ++i) std::free(keep(std::malloc(3001)));
  const itimerval never = {};
  setitimer(ITIMER_REAL, &never, nullptr);
  say("allocated %d 3001 malloc\nreleased %d 3001 free\n", pairs, pairs);
  say("note handled %ld\n", handled);
  return 0;
}
