// SPDX-License-Identifier: MIT
// expected: heapwright::arena: an object owns memory outside the arena
#include <vector>

#define HEAPWRIGHT_HEAP_BUDGET_IMPLEMENTATION
#include "heapwright/arena.hpp"
#include "heapwright/heap_budget.hpp"

int main() {
  heapwright::arena memory;
  memory.forbid_foreign_memory();
  memory.create<std::vector<int>>(100);
  return 0;
}
