// SPDX-License-Identifier: MIT
// Linked at fixed addresses, and takes those of malloc and its relatives: they
// are then entries of this program's linkage table, for everyone in the
// process. The program relies on malloc_usable_size, as V8 does.
#include <malloc.h>

#include "say.hpp"

int main() {
  void* (*volatile make)(std::size_t) = &malloc;
  void (*volatile release)(void*) = &free;
  std::size_t (*volatile usable)(void*) = &malloc_usable_size;
  constexpr std::size_t count = 100;
  constexpr std::size_t size = 3037;
  for (std::size_t i = 0; i < count; ++i) {
    void* block = keep(i % 2 == 0 ? make(size) : malloc(size));
    const std::size_t bytes = i % 4 < 2 ? usable(block) : malloc_usable_size(block);
    REQUIRE(bytes >= size && bytes < 2 * size);
    std::memset(block, 1, bytes);
    release(block);
  }
  say("allocated %zu %zu malloc\nreleased %zu %zu free\n", count, size, count, size);
  say("called %zu malloc_usable_size\n", count);
}
