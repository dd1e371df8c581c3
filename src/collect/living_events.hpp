// SPDX-License-Identifier: MIT
// Finds the blocks that are live after events of many threads.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/hashing.hpp"
#include "collect/large_array.hpp"
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
    if (addresses() < next_cleaning_) return;
    std::size_t kept = 0;
    for (const Latest& latest : latest_) {
      if (latest.is_made || latest.time_ns >= time_ns) latest_[kept++] = latest;
    }
    latest_.shrink(kept);
    index_all(places_.size());
    next_cleaning_ = std::max(least_cleaned, 2 * addresses());
  }

  // Calls visit(address, kept, time_ns) for each live block: by address, with the time when the call that
  // made it ended. Nothing may be added any longer.
  template <typename Visit>
  void take(const Visit& visit) {
    places_ = std::vector<std::uint32_t>();
    std::sort(latest_.begin(), latest_.end(),
              [](const Latest& a, const Latest& b) { return a.address < b.address; });
    for (std::size_t place = 0; place < latest_.size(); ++place) {
      if (place % given_back_together == 0) latest_.give_back_before(place);
      Latest& latest = latest_[place];
      if (latest.is_made) visit(latest.address, latest.kept, latest.time_ns);
    }
    latest_.shrink(0);
  }

  // What is kept of blocks that were released at this time or later, for ended(); none without.
  void keep_ended_since(std::uint64_t time_ns) noexcept { ended_since_ns_ = time_ns; }
  // By address and what is kept of the block, in any order.
  const std::vector<std::pair<std::uint64_t, Kept>>& ended() const noexcept { return ended_; }

  // Addresses held: of live blocks and of recent frees.
  std::size_t addresses() const noexcept { return latest_.size(); }

 private:
  static constexpr std::size_t least_cleaned = 4096;
  static constexpr std::size_t given_back_together = std::size_t{1} << 16U;
  static constexpr std::uint64_t max_time_ns = UINT64_MAX >> 1U;
  static constexpr std::uint32_t no_place = UINT32_MAX;

  // The latest event of an address: an allocation, or a free whose allocation may still come.
  struct Latest {
    std::uint64_t address = 0;
    std::uint64_t time_ns : 63 = 0;
    std::uint64_t is_made : 1 = 0;
    Kept kept;
  };

  void make(const PlacedEvent& placed) {
    const std::uint64_t time_ns = placed.event.begin_ns + placed.event.duration_ns;
    Latest& latest = latest_of(placed.event.address);
    if (latest.time_ns > time_ns) {
      if (latest.is_made == 0) note_end(latest.time_ns, placed.event.address, Kept(placed));
      return;
    }
    latest.time_ns = time_ns & max_time_ns;
    latest.is_made = 1;
    latest.kept = Kept(placed);
  }

  void release(std::uint64_t address, const PlacedEvent& placed) {
    const std::uint64_t time_ns = placed.event.begin_ns;
    Latest& latest = latest_of(address);
    const bool is_of_older =
        latest.is_made && latest.time_ns == time_ns && latest.kept.thread != placed.thread;
    if (latest.time_ns > time_ns || is_of_older) return;
    if (latest.is_made != 0) note_end(time_ns, address, latest.kept);
    latest.time_ns = time_ns & max_time_ns;
    latest.is_made = 0;
  }

  void note_end(std::uint64_t time_ns, std::uint64_t address, const Kept& kept) {
    if (time_ns >= ended_since_ns_) ended_.emplace_back(address, kept);
  }

  // Open addressing: a place in latest_, or no_place.
  std::size_t slot_of(std::uint64_t address) const noexcept {
    const std::size_t mask = places_.size() - 1;
    std::size_t slot = base::hash_to_bits(address, static_cast<unsigned>(std::countr_zero(places_.size())));
    while (places_[slot] != no_place && latest_[places_[slot]].address != address) slot = (slot + 1) & mask;
    return slot;
  }

  Latest& latest_of(std::uint64_t address) {
    if (places_.size() * 3 <= latest_.size() * 4) index_all(std::max(least_cleaned, places_.size() * 2));
    const std::size_t slot = slot_of(address);
    if (places_[slot] == no_place) {
      if (latest_.size() == no_place) throw std::length_error("it has too many blocks");
      places_[slot] = static_cast<std::uint32_t>(latest_.size());
      latest_.push_back({address, 0, 0, {}});
    }
    return latest_[places_[slot]];
  }

  void index_all(std::size_t slots) {
    places_ = std::vector<std::uint32_t>();
    places_.resize(slots, no_place);
    for (std::size_t place = 0; place < latest_.size(); ++place) {
      places_[slot_of(latest_[place].address)] = static_cast<std::uint32_t>(place);
    }
  }

  LargeArray<Latest> latest_;
  std::vector<std::uint32_t> places_;  // a power of two of them
  std::size_t next_cleaning_ = 0;      // at this number of addresses
  std::uint64_t ended_since_ns_ = UINT64_MAX;
  std::vector<std::pair<std::uint64_t, Kept>> ended_;
};

class LivingEvents : public LivingBlocks<PlacedEvent> {
 public:
  // By thread, in sequence. A realloc is returned without its old block, which is gone.
  std::vector<PlacedEvent> take();
};

}  // namespace heapwright::collect
