// SPDX-License-Identifier: MIT
// expected: heapwright::buffer_cache: release() of a buffer that is already back
#include "heapwright/buffer_cache.hpp"

int main() {
  heapwright::buffer_cache<> cache({.total_bytes = 1000, .buffers = 3});
  std::byte* buffer = cache.allocate(10);
  cache.release(buffer);
  cache.release(buffer);
  return 0;
}
