// SPDX-License-Identifier: MIT
// refault_decay: two threads whose buffers of 16 KiB to 1 MiB come and go. With dirty_decay_ms:0 jemalloc
// gives each back by madvise. Says its own page faults.
#include <sys/resource.h>

#include <thread>

#include "say.hpp"

namespace {

constexpr int buffers = 8;
constexpr int rounds = 800;

[[gnu::noinline]] char* make_block(unsigned* seed) {
  const std::size_t size = 16384 + static_cast<std::size_t>(rand_r(seed)) % 1'000'000;
  auto* block = static_cast<char*>(std::malloc(size));
  std::memset(block, 1, size);
  return block;
}

void query(unsigned seed) {
  char* columns[buffers] = {};
  for (int i = 0; i < rounds; ++i) {
    char*& column = columns[i % buffers];
    std::free(column);
    column = make_block(&seed);
  }
  for (char* column : columns) std::free(column);
}

}  // namespace

int main() {
  std::thread one(query, 1);
  std::thread other(query, 2);
  one.join();
  other.join();
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  say("note faults %ld\n", used.ru_minflt);
  return 0;
}
