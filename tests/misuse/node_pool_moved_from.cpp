// SPDX-License-Identifier: MIT
// expected: heapwright::node_pool: a pooled container is used after it was moved from
#include <list>
#include <utility>

#include "heapwright/node_pool.hpp"

int main() {
  heapwright::movable_pooled<std::list<int, heapwright::node_allocator<int>>> list;
  const auto taken = std::move(list);
  list->push_back(1);
}
