// SPDX-License-Identifier: MIT
// Fills memory up to a limit until malloc says no, frees all of it, and fills again: what was there once is
// there each time, and for blocks of another size. Each row of sizes runs in a process of its own.
//   refilled data|as|start THREADS
// start: of addresses, as as, and it was there before the program began.
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <atomic>
#include <new>

#include "public_names.hpp"

namespace {

constexpr std::size_t limit_bytes = std::size_t{150} << 20;
constexpr int rounds = 4;
constexpr int most_threads = 4;
// One after the other, then from the first again.
constexpr int kinds = 2;
constexpr std::size_t rows[][kinds] = {
    {700, 700},        {40'000, 40'000},    {300'000, 300'000}, {10'000'000, 10'000'000},
    {700, 10'000'000}, {40'000, 1'000'000}, {25'000, 2'000'000}};

struct Node {
  Node* next;
};

int threads = 0;
const std::size_t* sizes = nullptr;
pthread_barrier_t barrier;
std::atomic<std::size_t> served_bytes[rounds];

void fill_and_free(int round) {
  const std::size_t block_bytes = sizes[round % kinds];
  Node* first = nullptr;
  std::size_t count = 0;
  while (void* block = keep(std::malloc(block_bytes))) {
    first = new (block) Node{first};
    ++count;
  }
  REQUIRE(errno == ENOMEM);
  served_bytes[round] += count * block_bytes;
  pthread_barrier_wait(&barrier);
  while (first != nullptr) {
    Node* const next = first->next;
    std::free(first);
    first = next;
  }
}

void* run_thread(void* /*unused*/) {
  for (int round = 0; round < rounds; ++round) {
    pthread_barrier_wait(&barrier);
    fill_and_free(round);
  }
  return nullptr;
}

// Each thread keeps two slabs or three, and others cannot take them. Between those of four, anywhere, a piece
// as long as a long block may lie that serves none.
bool is_lost_between(std::size_t block_bytes) {
  constexpr std::size_t most_kept = 3;
  return block_bytes * most_kept * static_cast<std::size_t>(threads) > limit_bytes / 4;
}

void require_served() {
  for (int round = 0; round < rounds; ++round) {
    const std::size_t bytes = served_bytes[round];
    say("note of_%zu %zu\n", sizes[round % kinds], bytes >> 20);
    REQUIRE(bytes > limit_bytes / 4);
    REQUIRE(bytes < limit_bytes);
    REQUIRE(is_lost_between(sizes[round % kinds]) || bytes >= served_bytes[round % kinds] / 4 * 3);
  }
}

void limit_to(__rlimit_resource_t limited) {
  const rlimit limit{limit_bytes, RLIM_INFINITY};
  REQUIRE(setrlimit(limited, &limit) == 0);
}

[[noreturn]] void run(__rlimit_resource_t limited) {
  pthread_t others[most_threads];
  REQUIRE(pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(threads)) == 0);
  limit_to(limited);
  for (int i = 1; i < threads; ++i) REQUIRE(pthread_create(&others[i], nullptr, run_thread, nullptr) == 0);
  run_thread(nullptr);
  for (int i = 1; i < threads; ++i) REQUIRE(pthread_join(others[i], nullptr) == 0);
  require_served();
  require_valid();
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  REQUIRE(argc == 3);
  threads = std::atoi(argv[2]);
  REQUIRE(threads >= 1 && threads <= most_threads);
  if (std::strcmp(argv[1], "start") == 0) {
    limit_to(RLIMIT_AS);
    char as[] = "as";
    char* const line[] = {argv[0], as, argv[2], nullptr};
    execv("/proc/self/exe", line);
    REQUIRE(false);
  }
  for (const std::size_t(&row)[kinds] : rows) {
    sizes = row;
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) run(std::strcmp(argv[1], "as") == 0 ? RLIMIT_AS : RLIMIT_DATA);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  say("done\n");
  return 0;
}
