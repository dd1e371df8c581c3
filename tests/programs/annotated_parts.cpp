// SPDX-License-Identifier: MIT
// Arenas and pools that tell the recorder of their blocks.
#define HEAPWRIGHT_ANNOTATE 1
#include <functional>
#include <map>

#include "heapwright/arena.hpp"
#include "heapwright/node_pool.hpp"
#include "say.hpp"

int main() {
  using Pair = std::pair<const int, int>;
  using Map = std::map<int, int, std::less<>, heapwright::node_allocator<Pair>>;
  heapwright::arena requests({.name = "requests"});
  for (int request = 0; request < 10; ++request) {
    requests.reset();
    for (int i = 0; i < 100; ++i) keep(requests.allocate(24, 8));
    const auto here = requests.mark();
    keep(requests.allocate(3001));
    requests.rewind(here);
  }
  heapwright::node_pool prices({.name = "prices"});
  heapwright::node_pool names({.name = "names"});
  Map price(prices);
  Map name(names);
  for (int i = 0; i < 500; ++i) price[i] = name[i] = i;
  for (int i = 0; i < 200; ++i) price.erase(i);
  {
    heapwright::node_pool gone({.name = "gone"});
    keep(gone.allocate(40));
  }
  say("called 4 pool_create\ncalled 1 pool_destroy\ncalled 2011 pool_allocate\ncalled 1110 pool_free\n");
  say("note node_bytes %zu\n", sizeof(std::_Rb_tree_node<Pair>));
  ::_exit(0);
}
