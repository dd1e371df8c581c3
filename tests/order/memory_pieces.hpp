// SPDX-License-Identifier: MIT
// Pieces for a merge: the times and kinds of a memory trace's events, a few
// of a chunk at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "memory_trace.hpp"
#include "order/merge.hpp"

namespace heapwright::order {

struct MemoryPiece {
  const ScheduledChunk* job = nullptr;
  std::vector<std::uint64_t> keys;
  std::vector<std::uint64_t> sizes;  // name the event
  std::uint32_t used_events = 0;

  std::size_t count() const { return keys.size(); }
  std::uint64_t key(std::size_t index) const { return keys[index]; }
  std::uint32_t next_event() const { return used_events; }
};

// Fills the piece with at most `slice_events` events.
inline void fill(MemoryPiece& piece, const MemoryTrace& trace, std::uint32_t first,
                 std::uint32_t slice_events) {
  trace::EventBatch batch;
  trace.make_decoder()->decode(*piece.job->chunk, batch);
  piece.keys.clear();
  piece.sizes.clear();
  const auto last =
      static_cast<std::uint32_t>(std::min<std::size_t>(batch.kind.size(), first + slice_events));
  for (auto index = first; index < last; ++index) {
    piece.keys.push_back(merge_key(batch.begin_ns[index], batch.kind[index] != trace::EventKind::free_));
    piece.sizes.push_back(batch.size[index]);
  }
  piece.used_events = last;
}

}  // namespace heapwright::order
