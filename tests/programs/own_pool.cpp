// SPDX-License-Identifier: MIT
// own_pool MIB: few heap calls, and blocks of its own in memory that it maps: what a stripped allocator
// inside a program looks like.
#include <sys/mman.h>

#include "say.hpp"

namespace {

constexpr std::size_t page_bytes = 4096;

// A block of each page, as an allocator without a name would hand them out.
char* take_from(char* pool, std::size_t index) { return pool + index * page_bytes; }

}  // namespace

int main(int argc, char** argv) {
  const std::size_t bytes = std::strtoull(argc > 1 ? argv[1] : "128", nullptr, 10) << 20;
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(mapped != MAP_FAILED);
  auto* const pool = static_cast<char*>(mapped);
  for (std::size_t index = 0; index < bytes / page_bytes; ++index) *take_from(pool, index) = 1;
  for (int call = 0; call < 7; ++call) std::free(keep(std::malloc(3109)));
  say("allocated 7 3109 malloc\nreleased 7 3109 free\n");
  return 0;
}
