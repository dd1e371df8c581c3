// SPDX-License-Identifier: MIT
// expected: heapwright::heap_budget: budgets must end in reverse order, on their thread
#define HEAPWRIGHT_HEAP_BUDGET_IMPLEMENTATION
#include "heapwright/heap_budget.hpp"

int main() {
  heapwright::heap_budget outer({.allocations = 0});
  heapwright::heap_budget inner({.allocations = 0});
  outer.close();
  return 0;
}
