// SPDX-License-Identifier: MIT
// As many threads alive at once as the system allows, up to 10,000 or the
// number given; each allocates while all of them live.
#include <pthread.h>

#include <atomic>

#include "say.hpp"

namespace {

std::atomic<bool> may_leave{false};
std::atomic<int> arrived{0};

void* run(void*) {
  void* block = keep(std::malloc(3001));
  arrived.fetch_add(1);
  arrived.notify_one();
  may_leave.wait(false);
  std::free(block);
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const int wanted = argc > 1 ? std::atoi(argv[1]) : 10000;
  auto* threads = static_cast<pthread_t*>(std::calloc(static_cast<std::size_t>(wanted), sizeof(pthread_t)));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 * 1024);
  int made = 0;
  while (made < wanted && pthread_create(&threads[made], &attributes, run, nullptr) == 0) ++made;
  for (int seen = arrived.load(); seen < made; seen = arrived.load()) arrived.wait(seen);
  may_leave.store(true);
  may_leave.notify_all();
  for (int i = 0; i < made; ++i) pthread_join(threads[i], nullptr);
  std::free(threads);
  say("allocated %d 3001 malloc\nreleased %d 3001 free\nnote threads %d\n", made, made, made + 1);
  return 0;
}
