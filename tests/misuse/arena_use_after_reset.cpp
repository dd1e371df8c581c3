// SPDX-License-Identifier: MIT
// expected: heapwright::arena: an object is used after its arena was reset
#include "heapwright/arena.hpp"

int main() {
  heapwright::arena memory;
  const heapwright::arena_pointer<int> number(memory, memory.create<int>(3));
  memory.reset();
  return *number;
}
