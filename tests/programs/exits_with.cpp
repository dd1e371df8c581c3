// SPDX-License-Identifier: MIT
// Exits with the code given, after one allocation and, when they are given,
// so many seconds. Also built statically and
// with AddressSanitizer, to be refused.
#include "say.hpp"

int main(int argc, char** argv) {
  std::free(keep(std::malloc(3001)));
  say("allocated 1 3001 malloc\nreleased 1 3001 free\n");
  if (argc > 2) sleep(static_cast<unsigned>(std::atoi(argv[2])));
  return argc > 1 ? std::atoi(argv[1]) : 0;
}
