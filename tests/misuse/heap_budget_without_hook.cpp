// SPDX-License-Identifier: MIT
// expected: heapwright::heap_budget: the heap hook is not alive: define HEAPWRIGHT_HEAP_BUDGET_IMPLEMENTATION
// in one source file of the program
#include "heapwright/heap_budget.hpp"

int main() {
  HEAPWRIGHT_HEAP_BUDGET(.allocations = 0);
  return 0;
}
