// SPDX-License-Identifier: MIT
// Finds the blocks that are live after events of many threads, and the events that allocated them.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "trace/event.hpp"

namespace heapwright::collect {

// An event with its position in the trace.
struct PlacedEvent {
  trace::Event event;
  std::uint32_t thread = 0;
  std::uint64_t sequence = 0;
};

// Threads may be reported in any order, but each thread's events in sequence: for each address the latest
// event wins. At the same time, frees come before allocations of other threads, as in the analysis.
class LivingEvents {
 public:
  void add(const PlacedEvent& event);
  // No later event begins before this time: frees from earlier have found their blocks.
  void pass(std::uint64_t time_ns);
  // By thread, in sequence. A realloc is returned without its old block, which is gone.
  std::vector<PlacedEvent> take();
  // Addresses held: of live blocks and of recent frees.
  std::size_t addresses() const noexcept { return by_address_.size(); }

 private:
  // The latest event of an address: an allocation, or a free whose allocation may still come.
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
