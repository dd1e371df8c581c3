// SPDX-License-Identifier: MIT
// Planted: a request that swaps the routing table in waits until the old one is freed, node by node.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

using Routes = std::map<int, std::string>;

[[gnu::noinline]] Routes* load_routes(int generation) {
  auto* routes = new Routes;
  for (int route = 0; route < 60'000; ++route) {
    routes->emplace(route * 7919 % 1'000'003,
                    "a destination that does not fit inside " + std::to_string(generation));
  }
  return routes;
}

[[gnu::noinline]] void swap_in(Routes*& current, Routes* next) {
  delete current;
  current = next;
}

int main() {
  Routes* current = load_routes(0);
  for (int generation = 1; generation <= 8; ++generation) {
    swap_in(current, load_routes(generation));
    const timespec rest{0, 60'000'000};
    nanosleep(&rest, nullptr);
  }
  std::printf("%zu\n", current->size());
  std::fflush(stdout);
  std::_Exit(0);
}
