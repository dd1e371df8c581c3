// SPDX-License-Identifier: MIT
// expected: heapwright::buffer_cache: release() of a buffer that is not from a cache
#include "heapwright/buffer_cache.hpp"

int main() {
  heapwright::buffer_cache<> cache({.total_bytes = 1000, .buffers = 3});
  alignas(16) static std::byte own[64] = {};
  cache.release(own + 32);
  return 0;
}
