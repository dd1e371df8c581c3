// SPDX-License-Identifier: MIT
// A map that changes all the time.
#include "heapwright/node_pool.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "modes.hpp"

namespace {

constexpr int changes = 600'000;
constexpr std::uint64_t keys = 20'000;

template <class Map>
[[gnu::noinline]] void site(Map& map, int key) {
  map.emplace(key, key);
}

template <class Map>
void work(Map& map) {
  modes::Random random;
  for (int change = 0; change < changes; ++change) {
    const auto key = static_cast<int>(random.below(keys));
    if (map.erase(key) == 0) site(map, key);
  }
  modes::use(&map);
}

// As many entries without a node.
void in_a_vector() {
  modes::Random random;
  std::vector<int> sorted;
  for (int change = 0; change < changes / 100; ++change) {
    const auto key = static_cast<int>(random.below(keys));
    const auto found = std::lower_bound(sorted.begin(), sorted.end(), key);
    if (found != sorted.end() && *found == key) {
      sorted.erase(found);
    } else {
      sorted.insert(found, key);
    }
  }
  modes::use(sorted.data());
}

}  // namespace

int main(int argc, char** argv) {
  using Pooled = std::map<int, int, std::less<>, heapwright::node_allocator<std::pair<const int, int>>>;
  return modes::run(
      argc, argv,
      [] {
        std::map<int, int> map;
        work(map);
      },
      [] {
        heapwright::node_pool pool;
        Pooled map(pool);
        work(map);
      },
      in_a_vector);
}
