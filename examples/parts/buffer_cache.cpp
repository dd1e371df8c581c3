// SPDX-License-Identifier: MIT
// Choose a policy by replaying recorded sizes, then use it.
#include "heapwright/buffer_cache.hpp"

#include <cstdio>
#include <vector>

int main() {
  std::vector<heapwright::buffer_event> recorded;
  std::vector<std::size_t> live;
  unsigned state = 1;
  const auto random = [&] { return (state = state * 1664525 + 1013904223) >> 16; };
  for (std::size_t request = 0; request < 20000;) {
    if (live.empty() || random() % 2 == 0) {
      std::size_t bytes = 100;
      while (bytes < 1024 * 1024 && random() % 2 == 0) bytes *= 2;
      recorded.push_back({request, bytes});
      live.push_back(request++);
    } else {
      std::swap(live[random() % live.size()], live.back());
      recorded.push_back({live.back(), 0});
      live.pop_back();
    }
  }

  heapwright::keep_the_larger flawed({.total_bytes = 64 * 1024 * 1024, .buffers = 4});
  heapwright::learnt_cutoff cured({.total_bytes = 256 * 1024, .buffers = 64});
  const auto before = heapwright::replay(flawed, recorded);
  const auto after = heapwright::replay(cured, recorded);
  std::printf("keep the larger: %.0f %% hits, %.0f %% of the bytes used\n", before.hit_percent,
              before.used_percent);
  std::printf("learnt cutoff:   %.0f %% hits, %.0f %% of the bytes used\n", after.hit_percent,
              after.used_percent);

  heapwright::buffer_cache<> cache({.total_bytes = 256 * 1024, .buffers = 64});
  for (int i = 0; i < 100; ++i) {
    const auto buffer = cache.acquire(500);
    buffer.data()[499] = std::byte{1};
  }
  std::printf("%llu hits of 100\n", static_cast<unsigned long long>(cache.counters().hits));
  return after.used_percent >= 95.0 ? 0 : 1;
}
