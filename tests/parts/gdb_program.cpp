// SPDX-License-Identifier: MIT
// Parts for gdb to print, at the breakpoint `look`.
#include <string>

#include "heapwright/arena.hpp"
#include "heapwright/buffer_cache.hpp"
#include "heapwright/object_pool.hpp"
#include "heapwright/small_vector.hpp"

[[gnu::noinline]] void look() { __asm__ volatile(""); }

int main() {
  heapwright::small_vector<int, 4> held_inline = {1, 2, 3};
  heapwright::small_vector<int, 2> on_heap = {5, 6, 7, 8, 9};
  heapwright::compact_vector<int, 1> compact_inline = {11};
  heapwright::compact_vector<int, 1> compact_on_heap = {21, 22, 23};
  heapwright::arena memory;
  memory.allocate(100);
  heapwright::object_pool<std::string> pool({.max_idle = 3});
  const auto text = pool.acquire();
  heapwright::buffer_cache<> cache({.total_bytes = 1000, .buffers = 3});
  cache.acquire(100);
  cache.acquire(100);
  look();
}
