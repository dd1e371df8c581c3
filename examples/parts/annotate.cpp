// SPDX-License-Identifier: MIT
// Names for a recorder; without one, nothing happens.
#include "heapwright/annotate.h"

#include <cstdio>

int main() {
  const heapwright::annotated_phase loading("loading");
  static char pool[4096];
  heapwright_pool_created(pool, "orders");
  heapwright_pool_allocated(pool, pool + 64, 40);
  heapwright_pool_freed(pool, pool + 64);
  heapwright_pool_destroyed(pool);
  std::puts("named");
}
