// SPDX-License-Identifier: MIT
// expected: heapwright::arena: rewind() needs a marker of this arena
#include "heapwright/arena.hpp"

int main() {
  heapwright::arena memory;
  heapwright::arena other;
  memory.allocate(200);
  other.allocate(100);
  memory.rewind(other.mark());
  return 0;
}
