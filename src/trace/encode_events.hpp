// SPDX-License-Identifier: MIT
// Turns a batch of one thread's events into the payload of an event chunk.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trace/event.hpp"

namespace heapwright::trace {

struct EncodedTimes {
  std::uint64_t first_begin_ns = 0;  // as a reader will see them
  std::uint64_t last_begin_ns = 0;
  std::uint64_t last_end_ns = 0;
};

class EventEncoder {
 public:
  EventEncoder();
  ~EventEncoder();
  EventEncoder(const EventEncoder&) = delete;
  EventEncoder& operator=(const EventEncoder&) = delete;

  // Appends the payload to `out`. Begin times below their predecessor, or
  // below `floor_ns` for the first, are raised to it. Requires columns of
  // equal length, at most max_events_per_chunk.
  EncodedTimes encode(const EventBatch& batch, std::uint64_t floor_ns, std::vector<std::uint8_t>& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace heapwright::trace
