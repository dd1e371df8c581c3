// SPDX-License-Identifier: MIT
// A limit of the address space that is set while the program runs counts what
// is used, not what the heap might use some day: mappings and threads are still
// to be had, and so is memory up to the limit.
//   late_limit as|data  the limit is below what is used: memory is refused, and blocks stay what they are
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstring>

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

bool is_filled(const char* block, std::size_t bytes, char fill) {
  return block[0] == fill && std::memcmp(block, block + 1, bytes - 1) == 0;
}

// A block with others on both sides, and a free place that is long enough for what it is to become.
void check_growth_under(__rlimit_resource_t limited) {
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  auto* place = static_cast<char*>(keep(std::malloc(200 * mebibyte)));
  auto* block = static_cast<char*>(keep(std::malloc(20 * mebibyte)));
  void* behind = keep(std::malloc(20 * mebibyte));
  REQUIRE(place != nullptr && block != nullptr && behind != nullptr);
  std::memset(place, 1, 200 * mebibyte);
  std::memset(block, 2, 20 * mebibyte);
  std::free(place);
  const rlimit limit{mebibyte, RLIM_INFINITY};
  REQUIRE(setrlimit(limited, &limit) == 0);
  for (int turn = 0; turn < 3; ++turn) {
    auto* grown = static_cast<char*>(keep(std::realloc(block, 100 * mebibyte)));
    if (grown != nullptr) block = grown;
    REQUIRE(is_filled(block, 20 * mebibyte, 2));
    auto* more = static_cast<char*>(keep(std::malloc(50 * mebibyte)));
    if (more != nullptr) std::memset(more, 3, 50 * mebibyte);
    std::free(more);
  }
  std::free(block);
  std::free(behind);
  require_valid();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    check_growth_under(std::strcmp(argv[1], "as") == 0 ? RLIMIT_AS : RLIMIT_DATA);
    say("done\n");
    return 0;
  }
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
