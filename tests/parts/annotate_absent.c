/* SPDX-License-Identifier: MIT
 * Annotations in C, with no recorder: nothing happens. */
#include "heapwright/annotate.h"

int main(void) {
  int pool = 0;
  heapwright_pool_created(&pool, "pool");
  heapwright_pool_allocated(&pool, &pool, sizeof(pool));
  heapwright_phase_begins("phase");
  heapwright_phase_ends("phase");
  heapwright_region_named(&pool, sizeof(pool), "region");
  heapwright_pool_freed(&pool, &pool);
  heapwright_pool_destroyed(&pool);
  return 0;
}
