// SPDX-License-Identifier: MIT
// expected: heapwright::node_pool: a pooled container is used after its clear() threw
#include <set>

#include "heapwright/node_pool.hpp"

bool throws = false;
struct Compare {
  Compare() {
    if (throws) throw std::bad_alloc();
  }
  bool operator()(int a, int b) const { return a < b; }
};

int main() {
  heapwright::pooled<std::set<int, Compare, heapwright::node_allocator<int>>> set;
  throws = true;
  try {
    set.clear();
  } catch (const std::bad_alloc&) {
  }
  set->insert(1);
}
