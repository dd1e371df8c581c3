// SPDX-License-Identifier: MIT
#include "collect/living_events.hpp"

#include <algorithm>
#include <tuple>

namespace heapwright::collect {
namespace {

constexpr std::size_t least_cleaned = 4096;

}  // namespace

void LivingEvents::add(const PlacedEvent& event) {
  const trace::Event& call = event.event;
  if (trace::is_release(call.kind) && call.address != 0) return release(call.address, event);
  if (!trace::is_allocation(call.kind)) return;
  // A failed realloc leaves the old block unchanged.
  const bool has_old = call.old_address != 0 && (call.address != 0 || call.size == 0);
  if (trace::is_realloc(call.kind) && has_old) release(call.old_address, event);
  if (call.address != 0) make(event);
}

void LivingEvents::make(const PlacedEvent& event) {
  const std::uint64_t time_ns = event.event.begin_ns + event.event.duration_ns;
  Latest& latest = by_address_[event.event.address];
  if (latest.time_ns <= time_ns) latest = {time_ns, true, event};
}

void LivingEvents::release(std::uint64_t address, const PlacedEvent& event) {
  const std::uint64_t time_ns = event.event.begin_ns;
  Latest& latest = by_address_[address];
  const bool is_of_older = latest.is_made && latest.time_ns == time_ns && latest.event.thread != event.thread;
  if (latest.time_ns <= time_ns && !is_of_older) latest = {time_ns, false, {}};
}

void LivingEvents::pass(std::uint64_t time_ns) {
  if (by_address_.size() < next_cleaning_) return;
  std::erase_if(by_address_, [time_ns](const auto& entry) {
    return !entry.second.is_made && entry.second.time_ns < time_ns;
  });
  next_cleaning_ = std::max(least_cleaned, 2 * by_address_.size());
}

std::vector<PlacedEvent> LivingEvents::take() {
  std::vector<PlacedEvent> found;
  for (auto& [address, latest] : by_address_) {
    if (!latest.is_made) continue;
    latest.event.event.old_address = 0;
    found.push_back(latest.event);
  }
  by_address_.clear();
  std::sort(found.begin(), found.end(), [](const PlacedEvent& a, const PlacedEvent& b) {
    return std::tie(a.thread, a.sequence) < std::tie(b.thread, b.sequence);
  });
  return found;
}

}  // namespace heapwright::collect
