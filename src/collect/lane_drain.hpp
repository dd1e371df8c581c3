// SPDX-License-Identifier: MIT
// Reads the slots of one lane from shared memory and encodes them into a chunk of the trace.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "collect/encoder_pool.hpp"
#include "collect/kernel_events.hpp"
#include "collect/lane_end.hpp"
#include "collect/stack_definitions.hpp"
#include "collect/tick_clock.hpp"
#include "session/layout.hpp"
#include "trace/encode_events.hpp"

namespace heapwright::collect {

// The consumer's end of one lane for one owner (generation).
//
// Invariant: lane.tail == tail() <= lane.head, unless the lane was overwritten; then untrustworthy slots are
// skipped and counted.
class LaneDrain {
 public:
  // `kernel` knows the thread by `thread_id`; nullptr: no kernel records.
  LaneDrain(session::Lane& lane, std::uint64_t ring_slots, EncoderPool& encoders,
            KernelEvents* kernel = nullptr, std::uint32_t thread_id = 0) noexcept
      : lane_(lane), ring_slots_(ring_slots), encoders_(encoders), kernel_(kernel), thread_id_(thread_id) {}
  ~LaneDrain() {
    end_chunk();
    if (kernel_ != nullptr) kernel_->forget(thread_id_);
  }
  LaneDrain(const LaneDrain&) = delete;
  LaneDrain& operator=(const LaneDrain&) = delete;

  std::uint64_t ring_slots() const noexcept { return ring_slots_; }
  // Slots in the ring that have not been read.
  std::uint64_t waiting_slots() const noexcept { return std::min(written_slots(lane_) - tail_, ring_slots_); }
  bool is_half_full() const noexcept {
    return lane_.head.load(std::memory_order_seq_cst) - tail_ >= ring_slots_ / 2;
  }

  // Encodes what the lane held at the call, or as much as fits into the chunk, and returns the slots to the
  // producer.
  void take(StackDefinitions& stacks, const TickClock& clock);

  // The chunk begun, or nullptr. end_chunk() forgets it.
  const trace::EventEncoder* chunk() const noexcept { return encoder_.get(); }
  bool is_chunk_full() const noexcept { return count() == trace::max_events_per_chunk; }
  void end_chunk() noexcept;
  // Sets how many events of ended chunks are in the trace that is now written.
  void restart_numbering(std::uint64_t ended_events) noexcept { ended_events_ = ended_events; }

  std::uint32_t count() const noexcept { return encoder_ == nullptr ? 0 : encoder_->count(); }
  std::uint64_t first_sequence() const noexcept { return ended_events_; }
  std::uint64_t events() const noexcept { return ended_events_ + count(); }
  std::uint64_t damaged_slots() const noexcept { return damaged_slots_; }

  // Tracks since when events have been waiting to be written; must be called on every pass. 0: nothing waits.
  void look(std::uint64_t now_ns) noexcept {
    if (waiting_slots() == 0 && count() == 0) {
      waiting_since_ns_ = 0;
    } else if (waiting_since_ns_ == 0) {
      waiting_since_ns_ = now_ns;
    }
  }
  std::uint64_t waiting_since_ns() const noexcept { return waiting_since_ns_; }

 private:
  // This many slots are encoded and returned at once: a waiting producer continues while the rest is encoded.
  static constexpr std::uint64_t part_slots = session::lane_ring_slots / 8;
  using StackIds = std::array<std::uint32_t, part_slots>;

  StackIds stacks_of(std::uint64_t position, std::uint64_t end, StackDefinitions& stacks);
  void take_context(const session::RawEvent& slot, StackDefinitions& stacks);
  void encode(std::uint64_t position, std::uint64_t end, StackDefinitions& stacks,
              const TickConversion& clock, std::uint64_t latest_ticks, PendingWork* work);
  std::uint64_t add_kernel_work(const trace::Event& event, PendingWork& work);
  bool take_extension(const session::RawEvent& slot, std::uint8_t kind) noexcept;

  session::Lane& lane_;
  std::uint64_t ring_slots_;
  EncoderPool& encoders_;
  KernelEvents* kernel_;
  std::uint32_t thread_id_;
  std::unique_ptr<trace::EventEncoder> encoder_;
  std::uint64_t tail_ = 0;
  std::uint64_t ended_events_ = 0;
  std::uint64_t last_begin_ns_ = 0;  // of the chunks ended
  std::uint64_t damaged_slots_ = 0;
  std::uint64_t waiting_since_ns_ = 0;
  std::uint32_t context_ = 0;  // that the thread is in; 0: none
  std::string context_text_;   // of its name, read so far
  bool has_extension_ = false;
  session::RawExtension extension_{};
};

}  // namespace heapwright::collect
