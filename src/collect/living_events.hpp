// SPDX-License-Identifier: MIT
// Which blocks live after events of many threads, and the events that made them.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "trace/event.hpp"

namespace heapwright::collect {

// An event with its place in the trace.
struct PlacedEvent {
  trace::Event event;
  std::uint32_t thread = 0;
  std::uint64_t sequence = 0;
};

// Threads may be reported in any order, each in its own: of an address the latest event counts. In
// one moment releases come before allocations of other threads, as in an analysis.
class LivingEvents {
 public:
  void add(const PlacedEvent& event);
  // No event that follows begins before that: releases from before have met their blocks.
  void pass(std::uint64_t time_ns);
  // By thread, in sequence. A realloc is without its old block, which is over.
  std::vector<PlacedEvent> take();
  // Those that are held: with blocks that live, or just gone.
  std::size_t addresses() const noexcept { return by_address_.size(); }

 private:
  // The latest of an address: an allocation, or a release whose block may come after it.
  struct Latest {
    std::uint64_t time_ns = 0;
    bool is_made = false;
    PlacedEvent event;
  };

  void make(const PlacedEvent& event);
  void release(std::uint64_t address, const PlacedEvent& event);

  std::unordered_map<std::uint64_t, Latest> by_address_;
  std::size_t next_cleaning_ = 0;  // at this number of addresses
};

}  // namespace heapwright::collect
