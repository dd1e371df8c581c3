// SPDX-License-Identifier: MIT
// A budget for a function, without a test framework.
#define HEAPWRIGHT_HEAP_BUDGET_IMPLEMENTATION
#include "heapwright/heap_budget.hpp"

#include <cstdio>
#include <string>
#include <vector>

std::size_t join_lengths(const std::vector<std::string>& words) {
  std::string joined;
  for (const auto& word : words) joined += word;
  return joined.size();
}

int main() {
  const std::vector<std::string> words(100, "word");
  heapwright::heap_budget budget({.allocations = 10, .bytes = 4096, .live_bytes = 0});
  const std::size_t length = join_lengths(words);
  budget.close();
  std::printf("%zu characters, %llu allocations, %llu bytes\n", length,
              static_cast<unsigned long long>(budget.usage().allocations),
              static_cast<unsigned long long>(budget.usage().bytes));
  std::printf("%s", budget.message().c_str());
  return budget.is_kept() ? 0 : 1;
}
