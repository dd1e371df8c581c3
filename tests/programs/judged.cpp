// SPDX-License-Identifier: MIT
// judged rests|shared|sparse|untouched|pieces: programs that a report misjudged once, one kind each.
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "say.hpp"

namespace {

long resident_bytes() {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  char line[256];
  long kib = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "RssAnon: %ld", &kib) == 1) break;
  }
  std::fclose(file);
  return kib * 1024;
}

void* touched(std::size_t size) { return std::memset(std::malloc(size), 1, size); }

void say_what_a_trim_returns() {
  const long before = resident_bytes();
  malloc_trim(0);
  say("note trimmed %ld\n", before - resident_bytes());
}

[[gnu::noinline]] void* request(int number) { return touched(900 + number % 7 * 100); }
[[gnu::noinline]] void* session() { return touched(80); }

// More and more requests are open; then all are closed, and nothing is called for two seconds.
void rests(bool trims) {
  std::deque<void*> open;
  for (int tick = 0, number = 0; tick < 1500; ++tick) {
    for (int i = 0; i < 48; ++i, ++number) {
      open.push_back(request(number));
      if (number % 24 == 0) session();
    }
    for (; open.size() > 3000 + static_cast<std::size_t>(tick) * 32; open.pop_front()) {
      std::free(open.front());
    }
    usleep(1000);
  }
  for (void* one : open) std::free(one);
  open = {};
  if (trims) say_what_a_trim_returns();
  sleep(2);
}

struct Node {
  Node* child = nullptr;
  char text[100];
};

[[gnu::noinline]] void load_and_drop() {
  char* raw = static_cast<char*>(touched(8 << 20));
  Node* first = nullptr;
  for (int i = 0; i < 30'000; ++i) first = new Node{first, {}};
  while (first != nullptr) delete std::exchange(first, first->child);
  std::free(raw);
}

// One thread after the other loads a document and drops it; the memory of each stays in its arena.
void shared(bool trims) {
  std::mutex mutex;
  std::condition_variable changed;
  int turn = -1;
  const auto serve = [&](int number) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return turn == number; });
    load_and_drop();
    turn = -1;
    changed.notify_all();
    changed.wait(lock, [&] { return turn == 100; });
  };
  std::vector<std::thread> threads;
  threads.reserve(6);
  for (int i = 0; i < 6; ++i) threads.emplace_back(serve, i);
  for (int i = 0; i < 6; ++i) {
    std::unique_lock lock(mutex);
    turn = i;
    changed.notify_all();
    changed.wait(lock, [&] { return turn == -1; });
  }
  sleep(1);
  say("note resident %ld\n", resident_bytes());
  if (trims) say_what_a_trim_returns();
  {
    const std::lock_guard lock(mutex);
    turn = 100;
  }
  changed.notify_all();
  for (auto& thread : threads) thread.join();
}

// A table of which one byte in 2 MiB is used.
void sparse() {
  constexpr std::size_t step = 2 << 20, size = 64 * step;
  auto* table = static_cast<char*>(std::aligned_alloc(step, size));
  madvise(table, size, MADV_HUGEPAGE);
  for (std::size_t i = 0; i < size; i += step) table[i] = 1;
  say("note resident %ld\n", resident_bytes());
  sleep(1);
}

// Large blocks that calloc clears by mapping them, hardly touched.
void untouched() {
  for (int i = 0; i < 20; ++i) {
    auto* grid = static_cast<char*>(std::calloc(1, 200'000'000));
    grid[i * 1000] = 1;
    usleep(50'000);
    std::free(grid);
  }
  say("note resident %ld\n", resident_bytes());
}

char *at = nullptr, *end_of_chunk = nullptr;

[[gnu::noinline]] void* row_palloc(std::size_t size) {
  if (at == nullptr || at + size > end_of_chunk) {
    at = static_cast<char*>(std::malloc(16'000));
    end_of_chunk = at + 16'000;
  }
  return std::exchange(at, at + size);
}

[[gnu::noinline]] void* make_row() { return std::memset(row_palloc(48), 1, 48); }

void pieces() {
  for (int i = 0; i < 250; ++i) {
    for (int j = 0; j < 3000; ++j) make_row();
    usleep(5000);
  }
}

}  // namespace

int main(int argc, char** argv) {
  REQUIRE(argc > 1);
  const char* mode = argv[1];
  const bool trims = argc > 2;  // at rest
  if (std::strcmp(mode, "rests") == 0) rests(trims);
  if (std::strcmp(mode, "shared") == 0) shared(trims);
  if (std::strcmp(mode, "sparse") == 0) sparse();
  if (std::strcmp(mode, "untouched") == 0) untouched();
  if (std::strcmp(mode, "pieces") == 0) pieces();
  return 0;
}
