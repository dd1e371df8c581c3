// SPDX-License-Identifier: MIT
// Bytes as requests and releases; the cache must keep its bounds, and replay()
// must take any sequence of events.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "heapwright/buffer_cache.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t total_bytes = 20000;
  heapwright::buffer_cache<> cache({.total_bytes = total_bytes, .buffers = 10});
  std::vector<heapwright::buffer_cache<>::buffer> lent;
  std::vector<heapwright::buffer_event> events;
  for (std::size_t i = 0; i + 2 < std::min<std::size_t>(size, 3000); i += 3) {
    const std::size_t number = data[i + 1] + std::size_t{256} * data[i + 2];
    events.push_back({number % 100, data[i] % 2 == 0 ? number : 0});
    if (data[i] % 2 == 0 || lent.empty()) {
      const std::size_t bytes = number >> data[i] % 12;
      auto buffer = cache.acquire(bytes);
      if (buffer.capacity() < bytes || buffer.capacity() > heapwright::waste_bound(bytes)) std::abort();
      if (bytes != 0) std::memset(buffer.data(), 1, bytes);
      lent.push_back(std::move(buffer));
    } else {
      std::swap(lent[number % lent.size()], lent.back());
      lent.pop_back();
    }
    const auto& counters = cache.counters();
    if (counters.retained_bytes > total_bytes || counters.retained_buffers > 10) std::abort();
  }
  lent.clear();
  heapwright::learnt_cutoff policy({total_bytes, 10});
  const auto forecast = heapwright::replay(policy, events);
  if (forecast.peak_retained_bytes > total_bytes) std::abort();
  return 0;
}
