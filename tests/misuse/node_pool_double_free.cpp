// SPDX-License-Identifier: MIT
// expected: heapwright::node_pool: deallocate() of a block that is already back
#include "heapwright/node_pool.hpp"

int main() {
  heapwright::node_pool pool;
  void* node = pool.allocate(40);
  pool.deallocate(node, 40);
  pool.deallocate(node, 40);
}
