// SPDX-License-Identifier: MIT
// expected: heapwright::arena: rewind() needs a marker taken since the last reset()
#include "heapwright/arena.hpp"

int main() {
  heapwright::arena memory;
  memory.allocate(10);
  const auto here = memory.mark();
  memory.reset();
  memory.rewind(here);
  return 0;
}
