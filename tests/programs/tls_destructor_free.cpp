// SPDX-License-Identifier: MIT
// Blocks freed and allocated while a thread dies: by a thread_local's
// destructor, and by a pthread key that arms itself again.
#include <pthread.h>

#include <thread>

#include "say.hpp"

namespace {

constexpr int thread_count = 50;
pthread_key_t key;

struct Owner {
  void* block = std::malloc(3001);
  ~Owner() {
    std::free(block);
    std::free(keep(std::malloc(3011)));
  }
};

thread_local Owner owner;

// Runs PTHREAD_DESTRUCTOR_ITERATIONS - 1 = 3 times per thread.
void destroy(void* value) {
  const auto round = reinterpret_cast<std::size_t>(value);
  std::free(keep(std::malloc(3019)));
  if (round < 3) pthread_setspecific(key, reinterpret_cast<void*>(round + 1));
}

void run() {
  keep(owner.block);
  pthread_setspecific(key, reinterpret_cast<void*>(1));
}

}  // namespace

int main() {
  pthread_key_create(&key, destroy);
  for (int i = 0; i < thread_count; ++i) std::thread(run).join();
  say("allocated %d 3001 malloc\nreleased %d 3001 free\n", thread_count, thread_count);
  say("allocated %d 3011 malloc\nreleased %d 3011 free\n", thread_count, thread_count);
  say("allocated %d 3019 malloc\nreleased %d 3019 free\n", 3 * thread_count, 3 * thread_count);
  return 0;
}
