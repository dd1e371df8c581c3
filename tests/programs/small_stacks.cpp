// SPDX-License-Identifier: MIT
// Threads with the smallest stack there may be: the hooks need little of it.
#include <limits.h>
#include <pthread.h>

#include "say.hpp"

namespace {

void* run(void*) {
  for (int i = 0; i < 100; ++i) std::free(keep(std::malloc(3001)));
  return nullptr;
}

}  // namespace

int main() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, static_cast<std::size_t>(sysconf(_SC_THREAD_STACK_MIN))) ==
          0);
  for (int i = 0; i < 20; ++i) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, &attributes, run, nullptr) == 0);
    pthread_join(thread, nullptr);
  }
  say("allocated 2000 3001 malloc\nreleased 2000 3001 free\n");
  return 0;
}
