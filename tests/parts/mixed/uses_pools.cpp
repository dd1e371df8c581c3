// SPDX-License-Identifier: MIT
// Every part that can tell a recorder of its blocks.
#include <map>
#include <memory>
#include <string>

#include "heapwright/arena.hpp"
#include "heapwright/class_heap.hpp"
#include "heapwright/node_pool.hpp"
#include "heapwright/object_pool.hpp"
#include "heapwright/shared_object_pool.hpp"

namespace {

struct Order : heapwright::class_heap<Order> {
  int number = 1;
};
using Pair = std::pair<const int, int>;
using Map = std::map<int, int, std::less<>, heapwright::node_allocator<Pair>>;

#if !HEAPWRIGHT_ANNOTATE
static_assert(sizeof(heapwright::arena) == (HEAPWRIGHT_CHECKED ? 144 : 128));
static_assert(sizeof(heapwright::arena::marker) == (HEAPWRIGHT_CHECKED ? 80 : 64));
#endif

}  // namespace

int main() {
  heapwright::arena memory;
  const auto here = memory.mark();
  int sum = *memory.create<int>(1);
  memory.rewind(here);
  heapwright::pooled<Map> map;
  (*map)[1] = 1;
  sum += (*map)[1];
  map.clear();
  sum += std::make_unique<Order>()->number;
  heapwright::object_pool<std::string> pool({.max_idle = 1});
  heapwright::shared_object_pool<std::string> shared({.max_idle = 1});
  pool.acquire()->assign("text");
  shared.acquire()->assign("text");
  return sum == 3 ? 0 : 1;
}
