// SPDX-License-Identifier: MIT
// expected: heapwright::buffer_cache: a bound must not be zero
#include "heapwright/buffer_cache.hpp"

int main() {
  heapwright::buffer_cache<> cache({.total_bytes = 0, .buffers = 3});
  return 0;
}
