// SPDX-License-Identifier: MIT
// Allocates and frees for ever, to be killed from outside. It numbers its
// rounds by their sizes and says every thousandth, so that a test knows how
// far it certainly came.
#include "say.hpp"

int main() {
  for (long round = 0;; ++round) {
    std::free(keep(std::malloc(3001)));
    if (round % 1000 == 999) say("note rounds %ld\n", round + 1);
  }
}
