// SPDX-License-Identifier: MIT
// expected: heapwright::node_pool: deallocate() of a block of another pool or size
#include "heapwright/node_pool.hpp"

int main() {
  heapwright::node_pool pool;
  heapwright::node_pool other;
  pool.deallocate(other.allocate(40), 40);
}
