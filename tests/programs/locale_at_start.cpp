// SPDX-License-Identifier: MIT
// The lock of setlocale() after a first allocation under it: gdb starts so, by
// way of p11-kit.
#include <dlfcn.h>

#include <clocale>

#include "say.hpp"

extern locale_t early_locale;

int main() {
  REQUIRE(early_locale != nullptr);
  REQUIRE(dlerror() == nullptr);
  for (int i = 0; i < 10; ++i) {
    REQUIRE(setlocale(LC_ALL, i % 2 == 0 ? "C.UTF-8" : "C") != nullptr);
    std::free(keep(std::malloc(3001)));
  }
  freelocale(early_locale);
  say("allocated 10 3001 malloc\nreleased 10 3001 free\n");
  return 0;
}
