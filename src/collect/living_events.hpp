// SPDX-License-Identifier: MIT
// Finds the blocks that are live after events of many threads.
#pragma once

#include <algorithm>
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
//
// Kept: what is kept of the event that allocated a block; made from a PlacedEvent, with its thread.
template <typename Kept>
class LivingBlocks {
 public:
  void add(const PlacedEvent& placed) {
    const trace::Event& call = placed.event;
    if (trace::is_release(call.kind) && call.address != 0) return release(call.address, placed);
    if (!trace::is_allocation(call.kind)) return;
    // A failed realloc leaves the old block unchanged.
    const bool has_old = call.old_address != 0 && (call.address != 0 || call.size == 0);
    if (trace::is_realloc(call.kind) && has_old) release(call.old_address, placed);
    if (call.address != 0) make(placed);
  }

  // No later event begins before this time: frees from earlier have found their blocks.
  void pass(std::uint64_t time_ns) {
    if (by_address_.size() < next_cleaning_) return;
    std::erase_if(by_address_, [time_ns](const auto& entry) {
      return !entry.second.is_made && entry.second.time_ns < time_ns;
    });
    next_cleaning_ = std::max(least_cleaned, 2 * by_address_.size());
  }

  // Calls visit(address, kept) for each live block, and forgets them one by one.
  template <typename Visit>
  void take(const Visit& visit) {
    for (auto at = by_address_.begin(); at != by_address_.end(); at = by_address_.erase(at)) {
      if (at->second.is_made) visit(at->first, at->second.kept);
    }
  }

  // Addresses held: of live blocks and of recent frees.
  std::size_t addresses() const noexcept { return by_address_.size(); }

 private:
  static constexpr std::size_t least_cleaned = 4096;

  // The latest event of an address: an allocation, or a free whose allocation may still come.
  struct Latest {
    std::uint64_t time_ns = 0;
    bool is_made = false;
    Kept kept;
  };

  void make(const PlacedEvent& placed) {
    const std::uint64_t time_ns = placed.event.begin_ns + placed.event.duration_ns;
    Latest& latest = by_address_[placed.event.address];
    if (latest.time_ns <= time_ns) latest = {time_ns, true, Kept(placed)};
  }

  void release(std::uint64_t address, const PlacedEvent& placed) {
    const std::uint64_t time_ns = placed.event.begin_ns;
    Latest& latest = by_address_[address];
    const bool is_of_older =
        latest.is_made && latest.time_ns == time_ns && latest.kept.thread != placed.thread;
    if (latest.time_ns <= time_ns && !is_of_older) latest = {time_ns, false, {}};
  }

  std::unordered_map<std::uint64_t, Latest> by_address_;
  std::size_t next_cleaning_ = 0;  // at this number of addresses
};

class LivingEvents : public LivingBlocks<PlacedEvent> {
 public:
  // By thread, in sequence. A realloc is returned without its old block, which is gone.
  std::vector<PlacedEvent> take();
};

}  // namespace heapwright::collect
