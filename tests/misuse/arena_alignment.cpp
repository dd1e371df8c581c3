// SPDX-License-Identifier: MIT
// expected: heapwright::arena: the alignment must be a power of two
#include "heapwright/arena.hpp"

int main() {
  heapwright::arena memory;
  memory.allocate(10, 24);
  return 0;
}
