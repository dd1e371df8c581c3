// SPDX-License-Identifier: MIT
// A program with an allocator of its own linked in, as with a static
// jemalloc: no hook is ever called, and the recording has to say so.
#include <cstdint>

#include "say.hpp"

namespace {

alignas(16) char pool[64 << 20];
std::size_t used = 0;

void* take(std::size_t size) {
  const std::size_t rounded = (size + 15) & ~std::size_t{15};
  if (rounded < size || used + rounded > sizeof pool) return nullptr;
  return pool + __atomic_fetch_add(&used, rounded, __ATOMIC_RELAXED);
}

}  // namespace

extern "C" {
void* malloc(std::size_t size) { return take(size); }
void free(void*) {}
void* calloc(std::size_t count, std::size_t size) { return take(count * size); }
void* realloc(void*, std::size_t size) { return take(size); }
}

int main() {
  for (int i = 0; i < 10; ++i) std::free(keep(std::malloc(3001)));
  say("note blocks 10\n");
  return 0;
}
