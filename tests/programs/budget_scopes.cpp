// SPDX-License-Identifier: MIT
// Named budgets of each kind; says what they counted, of the opening with most.
#define HEAPWRIGHT_HEAP_BUDGET_IMPLEMENTATION
#include <algorithm>
#include <thread>
#include <vector>

#include "heapwright/heap_budget.hpp"
#include "say.hpp"

namespace {

using heapwright::budget_scope;
using heapwright::heap_allowance;
using heapwright::heap_budget;
using heapwright::heap_usage;

[[gnu::noinline]] void parse(int count) {
  for (int i = 0; i < count; ++i) std::free(keep(std::malloc(3001)));
  std::vector<int> grows;
  for (int i = 0; i < 100; ++i) grows.push_back(i);
}

void say_usage(const char* name, const heap_usage& usage) {
  say("note %s_calls %llu\n", name, static_cast<unsigned long long>(usage.allocations));
  say("note %s_bytes %llu\n", name, static_cast<unsigned long long>(usage.bytes));
}

// What is allowed is in no scope around it, and in one that begins within.
heap_usage parse_in_a_scope(int count, heap_usage& inner) {
  heap_budget budget({.name = "parse"});
  parse(count);
  {
    const heap_allowance logging;
    parse(50);
    heap_budget within({.name = "inner"});
    parse(7);
    inner = within.usage();
  }
  if (count == 2) keep(std::malloc(3011));  // stays
  return budget.usage();
}

heap_usage parse_in_threads() {
  heap_budget all({.name = "threads"}, budget_scope::whole_process);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([] {
      parse(10);
      const heap_allowance logging;
      parse(20);
    });
  }
  for (auto& thread : threads) thread.join();
  return all.usage();
}

}  // namespace

int main() {
  heap_usage most, inner;
  for (int count = 1; count <= 3; ++count) {
    const heap_usage usage = parse_in_a_scope(count, inner);
    if (usage.allocations > most.allocations) most = usage;
  }
  parse(30);  // in no scope
  say_usage("parse", most);
  say_usage("inner", inner);
  say_usage("threads", parse_in_threads());
  const heap_budget unnamed({.allocations = 100});  // nobody is told of it
  parse(40);
  return 0;
}
