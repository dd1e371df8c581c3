// SPDX-License-Identifier: MIT
// many_threads COUNT PAIRS: COUNT threads that live at the same time make
// PAIRS pairs of calls each, then wait for one another. Says the longest time
// that one call took, in ms, and waits for a line on stdin when given a third
// argument.
#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <atomic>

#include "say.hpp"

namespace {

int pair_count;
pthread_barrier_t barrier;
std::atomic<long> longest_ns;

long now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

[[gnu::noinline]] void* allocate_in_depth(int depth) {
  return depth == 0 ? std::malloc(3125) : keep(allocate_in_depth(depth - 1));
}

void* work(void*) {
  pthread_barrier_wait(&barrier);
  long longest = 0;
  for (int i = 0; i < pair_count; ++i) {
    const long begin = now_ns();
    std::free(keep(allocate_in_depth(i % 16)));
    longest = std::max(longest, now_ns() - begin);
  }
  long seen = longest_ns.load();
  while (seen < longest && !longest_ns.compare_exchange_weak(seen, longest)) {
  }
  pthread_barrier_wait(&barrier);  // all have worked
  pthread_barrier_wait(&barrier);  // all may end
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int count = std::atoi(argv[1]);
  pair_count = std::atoi(argv[2]);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(count) + 1);
  auto* threads = static_cast<pthread_t*>(std::calloc(static_cast<std::size_t>(count), sizeof(pthread_t)));
  for (int i = 0; i < count; ++i) REQUIRE(pthread_create(&threads[i], &attributes, work, nullptr) == 0);
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  say("note longest_ms %ld\n", longest_ns.load() / 1'000'000);
  char line[16];
  if (argc > 3 && ::read(0, line, sizeof line) < 0) return 3;
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < count; ++i) pthread_join(threads[i], nullptr);
  std::free(threads);
  say("allocated %d 3125 malloc\nreleased %d 3125 free\n", count * pair_count, count * pair_count);
  return 0;
}
