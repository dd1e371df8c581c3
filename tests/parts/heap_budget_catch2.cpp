// SPDX-License-Identifier: MIT
// A broken budget in Catch2: reported, and the test goes on.
#include <catch2/catch.hpp>

#define HEAPWRIGHT_HEAP_BUDGET_IMPLEMENTATION
#include "heapwright/heap_budget.hpp"

void* volatile sink;

TEST_CASE("broken") {
  {
    HEAPWRIGHT_HEAP_BUDGET(.allocations = 1);
    for (int i = 0; i < 2; ++i) {
      sink = std::malloc(10);
      std::free(sink);
    }
  }
  std::puts("and the test goes on");
}

TEST_CASE("kept") {
  HEAPWRIGHT_HEAP_BUDGET(.allocations = 0);
  const heapwright::heap_allowance for_the_framework;
  REQUIRE(1 + 1 == 2);
}
