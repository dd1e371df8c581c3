// SPDX-License-Identifier: MIT
// A library for loads_libraries that has an allocator of its own inside, which
// no hook can reach, and calls the program's as well.
#include <cstdlib>

#include "say.hpp"

extern "C" {
[[gnu::visibility("hidden"), gnu::noinline]] void* mi_malloc(std::size_t size) {
  static char pool[1 << 16];
  return size < sizeof pool ? keep(pool) : nullptr;
}
void* plugin_allocate() { return mi_malloc(3109) == nullptr ? nullptr : std::malloc(3109); }
void plugin_release(void* block) { std::free(block); }
}
