// SPDX-License-Identifier: MIT
// The load that poisons a cache which keeps the larger of two buffers.
#ifndef HEAPWRIGHT_TESTS_POISONING_LOAD_HPP
#define HEAPWRIGHT_TESTS_POISONING_LOAD_HPP

#include <cstddef>
#include <random>
#include <utility>
#include <vector>

#include "heapwright/buffer_cache.hpp"

// Allocate or free with equal chance; sizes from 100 bytes double with
// probability 1 / doubles_in, up to 1 MiB; a random live buffer is freed.
inline std::vector<heapwright::buffer_event> poisoning_load(unsigned seed, unsigned doubles_in, int steps) {
  std::mt19937 random(seed);
  std::vector<heapwright::buffer_event> events;
  std::vector<std::size_t> live;
  std::size_t requests = 0;
  for (int i = 0; i < steps; ++i) {
    if (live.empty() || random() % 2 == 0) {
      std::size_t bytes = 100;
      while (bytes < 1024 * 1024 && random() % doubles_in == 0) bytes *= 2;
      live.push_back(requests);
      events.push_back({requests++, bytes});
    } else {
      std::swap(live[random() % live.size()], live.back());
      events.push_back({live.back(), 0});
      live.pop_back();
    }
  }
  return events;
}

#endif
