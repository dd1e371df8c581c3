// SPDX-License-Identifier: MIT
// A map whose nodes come from its own pages, and end at once.
#include "heapwright/node_pool.hpp"

#include <cstdio>
#include <functional>
#include <map>

int main() {
  using entry = std::pair<const int, int>;
  using numbers = std::map<int, int, std::less<>, heapwright::node_allocator<entry>>;
  heapwright::pooled<numbers> squares;
  for (int i = 0; i < 1000; ++i) (*squares)[i] = i * i;
  std::printf("%s\n", squares.pool().report().c_str());
  squares.clear();
  return squares->empty() && squares.statistics().live_blocks == 0 ? 0 : 1;
}
