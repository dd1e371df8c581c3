// SPDX-License-Identifier: MIT
// Takes the slots of one lane out of shared memory and turns them into the
// columns of the trace.
#pragma once

#include <atomic>
#include <cstdint>

#include "collect/stack_definitions.hpp"
#include "collect/tick_clock.hpp"
#include "session/layout.hpp"
#include "trace/event.hpp"
#include "trace/writer.hpp"

namespace heapwright::collect {

// Memory that all waiting events of the collector take.
struct BufferBudget {
  std::uint64_t used_bytes = 0;
  static constexpr std::uint64_t limit_bytes = 256ULL << 20;
  bool is_exceeded() const noexcept { return used_bytes > limit_bytes; }
};

// The consumer's end of one lane for one owner (generation).
//
// Invariant: lane.tail == tail() <= lane.head, unless the lane was scribbled
// on; then the slots that cannot be trusted are skipped and counted.
class LaneDrain {
 public:
  LaneDrain(session::Lane& lane, BufferBudget& budget);
  ~LaneDrain();
  LaneDrain(const LaneDrain&) = delete;
  LaneDrain& operator=(const LaneDrain&) = delete;

  // Converts what the lane holds until it is empty or the batch is full, and
  // gives the slots back to the producer. Returns the slots taken.
  std::uint64_t take(StackDefinitions& stacks, const TickClock& clock);

  // The ring in shared memory, not the batch.
  bool is_half_full() const noexcept {
    return lane_.head.load(std::memory_order_seq_cst) - tail_ >= session::lane_ring_slots / 2;
  }
  bool is_full() const noexcept { return count_ == trace::max_events_per_chunk; }
  std::uint32_t count() const noexcept { return count_; }
  std::uint64_t first_sequence() const noexcept { return taken_events_ - count_; }
  std::uint64_t events() const noexcept { return taken_events_; }
  std::uint64_t damaged_slots() const noexcept { return damaged_slots_; }
  // When the oldest waiting event was taken; meaningful while count() > 0.
  std::uint64_t waiting_since_ns() const noexcept { return waiting_since_ns_; }

  // The waiting events, trimmed to count(). Ends with clear().
  const trace::EventBatch& batch();
  // Forgets the waiting events; `keep_memory` when more will follow soon.
  void clear(bool keep_memory);

 private:
  // Position after the slots converted from [position, end).
  std::uint64_t convert(std::uint64_t position, std::uint64_t end, StackDefinitions& stacks,
                        const TickConversion& clock, std::uint64_t latest_ticks);
  std::uint64_t copy_slots(std::uint64_t position, std::uint64_t end);
  void take_extension(const session::RawEvent& slot, std::uint8_t kind) noexcept;
  void apply_extension(std::uint32_t event) noexcept;
  void convert_times(std::uint32_t first, const TickConversion& clock, std::uint64_t latest_ticks);
  void reserve(std::uint64_t slots);
  void set_capacity(std::uint32_t capacity);
  void give_back(std::uint64_t position) noexcept;

  session::Lane& lane_;
  BufferBudget& budget_;
  trace::EventBatch batch_;
  std::uint32_t capacity_ = 0;
  std::uint32_t count_ = 0;
  std::uint64_t tail_ = 0;
  std::uint64_t taken_events_ = 0;
  std::uint64_t damaged_slots_ = 0;
  std::uint64_t last_begin_ticks_ = 0;
  std::uint64_t waiting_since_ns_ = 0;
  bool has_extension_ = false;
  bool has_old_addresses_ = false;  // the column is all 0 otherwise
  session::RawExtension extension_{};
};

}  // namespace heapwright::collect
