// SPDX-License-Identifier: MIT
// The order in which chunks are decoded, and the lane of each. Lanes number the threads that have events
// densely, so that a corrupt thread number costs nothing.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "trace/reader.hpp"

namespace heapwright::order {

struct ScheduledChunk {
  const trace::EventChunk* chunk = nullptr;
  std::uint32_t lane = 0;
};

// Chunks that begin before `to_ns`, by first begin; chunks of one thread stay in sequence.
struct Schedule {
  std::vector<ScheduledChunk> jobs;
  std::vector<std::uint32_t> thread_of_lane;
  std::uint64_t events = 0;
  // Events of all chunks that span the busiest moment: the number that a merge of whole chunks would hold
  // decoded.
  std::uint64_t widest_events = 0;
  std::uint32_t widest_chunks = 0;

  // How many events of one chunk to hold decoded so that the merge stays within `budget_bytes` at
  // `event_bytes` each.
  std::uint32_t slice_events(std::uint64_t budget_bytes, std::uint64_t event_bytes) const noexcept;
};

Schedule make_schedule(const std::vector<trace::EventChunk>& chunks, std::uint64_t to_ns);

}  // namespace heapwright::order
