// SPDX-License-Identifier: MIT
#include "collect/living_events.hpp"

#include <tuple>

namespace heapwright::collect {

std::vector<PlacedEvent> LivingEvents::take() {
  std::vector<PlacedEvent> found;
  LivingBlocks::take([&](std::uint64_t, PlacedEvent& placed, std::uint64_t) {
    placed.event.old_address = 0;
    found.push_back(placed);
  });
  std::sort(found.begin(), found.end(), [](const PlacedEvent& a, const PlacedEvent& b) {
    return std::tie(a.thread, a.sequence) < std::tie(b.thread, b.sequence);
  });
  return found;
}

}  // namespace heapwright::collect
