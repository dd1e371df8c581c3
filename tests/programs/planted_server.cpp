// SPDX-License-Identifier: MIT
// Does what lines on standard input ask for, and tells what it did: "grow N" keeps N more blocks of 1000
// bytes; "hand N" frees N blocks on another thread than made them; "crowd N" makes and frees N blocks on each
// of 8 threads at once, and tells how often a thread of the process left a processor meanwhile; "info" is
// malloc_info()'s document.
#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t session_bytes = 1000;
constexpr int crowd_threads = 8;

// From the kernel, and beside the heap: what is kept here is no block.
struct Sessions {
  void* blocks[1 << 20];
  long count = 0;
};
Sessions sessions;
void* handed[1 << 20];

[[gnu::noinline]] void keep_session() {
  void* block = std::malloc(session_bytes);
  std::memset(block, 1, session_bytes);
  sessions.blocks[sessions.count++] = block;
}

void hand(long count) {
  std::thread([count] {
    for (long i = 0; i < count; ++i) handed[i] = std::malloc(64);
  }).join();
  for (long i = 0; i < count; ++i) std::free(handed[i]);
}

// Beyond what a thread's own cache takes.
void work(pthread_barrier_t& begin, long count) {
  pthread_barrier_wait(&begin);
  for (long i = 0; i < count; ++i) {
    void* volatile block = std::malloc(static_cast<std::size_t>(2000 + i % 2000));
    std::free(block);
  }
}

long switches() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw + usage.ru_nivcsw;
}

long crowd(long count) {
  const long before = switches();
  pthread_barrier_t begin;
  pthread_barrier_init(&begin, nullptr, crowd_threads);
  std::vector<std::thread> threads;
  for (int i = 0; i < crowd_threads; ++i) threads.emplace_back([&] { work(begin, count); });
  for (std::thread& thread : threads) thread.join();
  return switches() - before;
}

}  // namespace

int main() {
  static char out[1 << 16];
  static char in[1 << 12];
  setvbuf(stdout, out, _IOLBF, sizeof out);
  setvbuf(stdin, in, _IOLBF, sizeof in);
  char word[16];
  long count = 0;
  while (std::scanf("%15s %ld", word, &count) == 2) {
    if (std::strcmp(word, "grow") == 0) {
      for (long i = 0; i < count; ++i) keep_session();
      std::printf("kept %ld\n", sessions.count);
    } else if (std::strcmp(word, "hand") == 0) {
      hand(count);
      std::printf("handed %ld\n", count);
    } else if (std::strcmp(word, "crowd") == 0) {
      std::printf("crowded %ld\n", crowd(count));
    } else {
      malloc_info(0, stdout);
    }
  }
  return 0;
}
