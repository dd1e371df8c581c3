// SPDX-License-Identifier: MIT
// expected: heapwright::arena: rewind() needs a marker that was not rewound below
#include "heapwright/arena.hpp"

int main() {
  heapwright::arena memory;
  const auto low = memory.mark();
  memory.allocate(10);
  const auto high = memory.mark();
  memory.rewind(low);
  memory.rewind(high);
  return 0;
}
