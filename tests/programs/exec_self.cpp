// SPDX-License-Identifier: MIT
// Replaces itself by exec, as often as given, with blocks still live; the
// last one exits with 7.
#include "say.hpp"

int main(int argc, char** argv) {
  const int left = argc > 1 ? std::atoi(argv[1]) : 3;
  for (int i = 0; i < 10; ++i) keep(std::malloc(3001));
  if (left == 0) {
    say("allocated 10 3001 malloc\n");
    return 7;
  }
  char number[16];
  std::snprintf(number, sizeof number, "%d", left - 1);
  char* arguments[] = {argv[0], number, nullptr};
  execv("/proc/self/exe", arguments);
  return 113;
}
