// SPDX-License-Identifier: MIT
// Memory the program maps itself: mmap, mremap, munmap, mprotect, madvise, brk, sbrk.
#include <sys/mman.h>

#include "say.hpp"

int main() {
  constexpr std::size_t page_bytes = 4096;
  for (int i = 0; i < 5; ++i) {
    void* map =
        keep(mmap(nullptr, 777 * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(map != MAP_FAILED);
    map = keep(mremap(map, 777 * page_bytes, 1777 * page_bytes, MREMAP_MAYMOVE));
    REQUIRE(map != MAP_FAILED);
    REQUIRE(madvise(map, 16 * page_bytes, MADV_DONTNEED) == 0);
    REQUIRE(munmap(map, 1777 * page_bytes) == 0);
  }
  REQUIRE(mmap(nullptr, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
  void* reserved = mmap(nullptr, 64 * page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(reserved != MAP_FAILED);
  REQUIRE(mprotect(reserved, 24 * page_bytes, PROT_READ | PROT_WRITE) == 0);
  void* before = sbrk(0);
  REQUIRE(sbrk(8192) == before);
  REQUIRE(brk(before) == 0);
  say("allocated 5 %zu mmap\nallocated 5 %zu mremap\ncalled 5 munmap\n", 777 * page_bytes, 1777 * page_bytes);
  say("allocated 1 %zu mmap\ncalled 5 madvise\ncalled 1 mprotect\n", 64 * page_bytes);
  say("failed 1 0 mmap\ncalled 2 sbrk\ncalled 1 brk\n");
  return 0;
}
