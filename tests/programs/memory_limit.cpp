// SPDX-License-Identifier: MIT
// Lowers RLIMIT_AS to 64 MiB above what it uses, allocates until that fails,
// gives everything back and goes on.
#include <sys/resource.h>

#include <new>

#include "say.hpp"

namespace {

std::size_t address_space_bytes() {
  FILE* file = std::fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  REQUIRE(file != nullptr && std::fscanf(file, "%lu", &pages) == 1);
  std::fclose(file);
  return pages * 4096;
}

}  // namespace

int main() {
  const rlim_t limit = address_space_bytes() + (64U << 20);
  const rlimit limits = {limit, limit};
  REQUIRE(setrlimit(RLIMIT_AS, &limits) == 0);
  void* blocks[1000];
  int count = 0;
  while (count < 1000 && (blocks[count] = keep(std::malloc(1'000'003))) != nullptr) ++count;
  REQUIRE(count > 0 && count < 1000);
  int thrown = 0;
  try {
    keep(::operator new(70'000'001));
  } catch (const std::bad_alloc&) {
    ++thrown;
  }
  REQUIRE(thrown == 1);
  for (int i = 0; i < count; ++i) std::free(blocks[i]);
  std::free(keep(std::malloc(3011)));
  say("allocated %d 1000003 malloc\nreleased %d 1000003 free\nfailed 1 1000003 malloc\n", count, count);
  say("failed 1 70000001 operator new\nallocated 1 3011 malloc\nreleased 1 3011 free\n");
  return 0;
}
