// SPDX-License-Identifier: MIT
// How many orders are alive? And a private heap, where there is one.
#include "heapwright/class_heap.hpp"

#include <cstdio>
#include <memory>
#include <vector>

struct order : heapwright::class_heap<order> {
  int number = 0;
};

int main() {
  {
    std::vector<std::unique_ptr<order>> orders;
    for (int i = 0; i < 1000; ++i) orders.push_back(std::make_unique<order>());
  }
  const auto s = order::heap_statistics();
  std::printf("%llu alive, %llu at the peak, %s\n", static_cast<unsigned long long>(s.live_objects),
              static_cast<unsigned long long>(s.peak_objects),
              order::has_own_heap() ? "on a private heap" : "on the global heap");
  return s.live_objects == 0 ? 0 : 1;
}
