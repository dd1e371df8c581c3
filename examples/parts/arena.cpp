// SPDX-License-Identifier: MIT
// One arena per request: created piece by piece, gone at once.
#include "heapwright/arena.hpp"

#include <cstdio>
#include <string>

struct field {
  std::pmr::string name;
  field* next;
};

int main() {
  heapwright::arena request;
  for (int i = 0; i < 1000; ++i) {
    field* fields = nullptr;
    for (int f = 0; f < 20; ++f) {
      fields =
          request.create<field>(std::pmr::string("a name longer than the small buffer", &request), fields);
    }
    const auto attempt = request.mark();
    request.create<std::string>("destroyed by the rewind");
    request.rewind(attempt);
    if (i == 999) std::printf("%s\n", request.report().c_str());
    request.reset();
  }
  const auto usage = request.usage();
  std::printf("1000 requests: %llu upstream allocations, %s\n",
              static_cast<unsigned long long>(usage.upstream_allocations),
              usage.upstream_allocations < 10 ? "steady" : "growing");
  return usage.upstream_allocations < 10 ? 0 : 1;
}
