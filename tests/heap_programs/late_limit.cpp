// SPDX-License-Identifier: MIT
// A limit of the address space that is set while the program runs counts what
// is used, not what the heap might use some day: mappings and threads are still
// to be had, and so is memory up to the limit.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "public_names.hpp"

namespace {

constexpr std::size_t limit_bytes = std::size_t{1} << 30;

void* answer(void* argument) {
  *static_cast<bool*>(argument) = true;
  return nullptr;
}

void check_thread() {
  pthread_t thread{};
  bool has_run = false;
  REQUIRE(pthread_create(&thread, nullptr, answer, &has_run) == 0);
  REQUIRE(pthread_join(thread, nullptr) == 0 && has_run);
}

void check_mapping() {
  constexpr std::size_t bytes = std::size_t{64} << 20;
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(mapped != MAP_FAILED);
  REQUIRE(munmap(mapped, bytes) == 0);
}

}  // namespace

int main() {
  std::free(keep(std::malloc(100)));
  const rlimit limit{limit_bytes, RLIM_INFINITY};
  REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
  check_mapping();
  check_thread();
  static void* blocks[2000];
  std::size_t count = 0;
  while (count < 2000 && (blocks[count] = keep(std::malloc(1'000'000))) != nullptr) ++count;
  REQUIRE(count > 700 && count < 1100);  // most of the limit, and not more
  while (count > 0) std::free(blocks[--count]);
  require_valid();
  say("done\n");
  return 0;
}
