// SPDX-License-Identifier: MIT
// Allocates in a recursion, compiled without unwind tables: with frame pointers, and without.
#include <cstdlib>

#include "say.hpp"

extern "C" {

[[gnu::noinline]] int deep(int levels) {
  if (levels == 0) {
    std::free(keep(std::malloc(3089)));
    return 1;
  }
  return deep(levels - 1) + (last_block != nullptr ? 1 : 0);
}
}

int main() {
  for (int round = 0; round < 30; ++round) deep(round % 3);
  return 0;
}
