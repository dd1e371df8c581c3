// SPDX-License-Identifier: MIT
// held_in_calloc: clears a large block again and again, nearly all of its time. SIGUSR1 holds it there, in a
// handler, until SIGUSR2; then it goes on for a while and ends.
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "say.hpp"

namespace {

volatile sig_atomic_t was_held = 0;
volatile sig_atomic_t is_released = 0;

void hold(int) {
  while (is_released == 0) usleep(1000);
  was_held = 1;
}

void release(int) { is_released = 1; }

}  // namespace

int main() {
  constexpr std::size_t bytes = std::size_t{64} << 20;
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  signal(SIGUSR1, hold);
  signal(SIGUSR2, release);
  say("ready\n");
  for (int left = 20; left > 0; left -= was_held) std::free(keep(std::calloc(1, bytes)));
  return 0;
}
