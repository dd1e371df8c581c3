// SPDX-License-Identifier: MIT
// expected: heapwright::arena: a block size must not be zero
#include "heapwright/arena.hpp"

int main() {
  heapwright::arena memory(heapwright::arena_options{.first_block_bytes = 0});
  return 0;
}
