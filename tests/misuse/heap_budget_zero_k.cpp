// SPDX-License-Identifier: MIT
// expected: heapwright::heap_budget: failure injection needs k of at least 1
#include "heapwright/heap_budget.hpp"

int main() {
  const heapwright::heap_failures never(0);
  return 0;
}
