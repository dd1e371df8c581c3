// SPDX-License-Identifier: MIT
// dlsym that fails makes the loader allocate its message (calloc inside
// dlsym); from a constructor, from main, and from threads at once.
#include <dlfcn.h>

#include <thread>

#include "say.hpp"

namespace {

constexpr int rounds = 300;

void storm() {
  for (int i = 0; i < rounds; ++i) {
    char name[32];
    std::snprintf(name, sizeof name, "no_such_name_%d", i);
    REQUIRE(dlsym(RTLD_DEFAULT, name) == nullptr);
    REQUIRE(dlerror() != nullptr);
    std::free(keep(std::calloc(1, 3001)));
  }
}

[[gnu::constructor(101)]] void storm_before_main() { storm(); }

}  // namespace

int main() {
  storm();
  std::thread threads[4];
  for (auto& thread : threads) thread = std::thread(storm);
  for (auto& thread : threads) thread.join();
  say("allocated %d 3001 calloc\nreleased %d 3001 free\n", 6 * rounds, 6 * rounds);
  return 0;
}
