// SPDX-License-Identifier: MIT
// Says by annotate.h what it does, between heap calls.
#include "heapwright/annotate.h"
#include "say.hpp"

int main() {
  static const char cut[] =
      "a name of one hundred and fifty letters, of which a recorder keeps no more than the first one hundred "
      "and twenty-eight, as the documentation of it says.";
  static_assert(sizeof(cut) > 150);
  char room[5000];
  {
    const heapwright::annotated_phase all("all");
    {
      const heapwright::annotated_phase exact("sixteen letters!");
      std::free(keep(std::malloc(4001)));
    }
    heapwright_pool_created(room, "orders");
    heapwright_pool_allocated(room, room + 1000, 3003);
    heapwright_region_named(room, sizeof room, "buffers of the orders");
    heapwright_pool_freed(room, room + 1000);
    heapwright_pool_destroyed(room);
    std::free(keep(std::malloc(4003)));
    const heapwright::annotated_phase long_one(cut);
    const heapwright::annotated_phase nameless("");
  }
  say("allocated 1 4001 malloc\nallocated 1 4003 malloc\n");
  say("called 4 phase_begin\ncalled 4 phase_end\ncalled 1 pool_create\ncalled 1 pool_destroy\n");
  say("called 1 pool_allocate\ncalled 1 pool_free\ncalled 1 region_named\n");
  return 0;
}
