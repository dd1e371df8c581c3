// SPDX-License-Identifier: MIT
// Encodes the events of one thread into the payload of an event chunk, one by one, so that their producer
// need not keep them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/byte_sink.hpp"
#include "trace/block.hpp"
#include "trace/encode_addresses.hpp"
#include "trace/encoder_columns.hpp"
#include "trace/event.hpp"
#include "trace/format.hpp"
#include "trace/kernel_column.hpp"
#include "trace/value_predictors.hpp"

namespace heapwright::trace {

struct EncodedTimes {
  std::uint64_t first_begin_ns = 0;  // as a reader will decode it
  std::uint64_t last_begin_ns = 0;
  std::uint64_t last_end_ns = 0;
};

// About 1.2 MB, of which a chunk touches about 25 bytes per event plus 50 kB.
class EventEncoder {
 public:
  EventEncoder() = default;
  EventEncoder(const EventEncoder&) = delete;
  EventEncoder& operator=(const EventEncoder&) = delete;

  // Begins a chunk. Begin times below their predecessor, or below `floor_ns` for the first, are raised to it.
  void start(std::uint64_t floor_ns);

  // Requires count() < max_events_per_chunk and times up to max_time_ns.
  [[gnu::always_inline]] void add(const Event& event) {
    const std::uint32_t at = count_;
    const std::uint8_t facts = kind_facts[event.kind];
    kind_[at] = static_cast<std::uint8_t>(event.kind);
    add_times(at, event.begin_ns, event.duration_ns);
    stack_[at] = stacks_.encode(event.kind, event.stack, stack_position_, stack_wide_);
    if ((facts & KindFacts::aligned) != 0) [[unlikely]] {
      alignment_.put_byte(event.alignment_log2);
    }
    if ((facts & KindFacts::refers) != 0) {
      addresses_.add_reference(static_cast<BlockIndex>(at), event, facts);
    } else {
      add_made_size(event);
      addresses_.add_made(static_cast<BlockIndex>(at), event, facts);
    }
    count_ = at + 1;
  }
  // The kernel's work within the call that was added last.
  void add_kernel_work(const KernelWork& work) { kernel_.add(count_ - 1, work); }
  // Adds the whole batch, which has columns of equal length. Times are clipped to max_time_ns.
  void add(const EventBatch& batch);

  std::uint32_t count() const noexcept { return count_; }
  std::uint64_t last_begin_ns() const noexcept { return last_begin_quanta_ * time_quantum_ns; }

  // Appends the payload to `out`; start() must come next.
  EncodedTimes finish(BlockPacker& packer, std::vector<std::uint8_t>& out) const;

  // The latest time of an event so far, as a reader will decode it.
  std::uint64_t last_ns() const noexcept {
    return std::max(last_begin_quanta_ * time_quantum_ns, last_end_ns_);
  }

 private:
  [[gnu::always_inline]] void add_times(std::uint32_t at, std::uint64_t begin_ns, std::uint32_t duration_ns) {
    std::uint64_t begin = begin_ns / time_quantum_ns;
    if (begin < last_begin_quanta_) begin = last_begin_quanta_;
    if (at == 0) [[unlikely]] {
      first_begin_quanta_ = last_begin_quanta_ = begin;
    }
    begin_[at] = code_of_number(begin - last_begin_quanta_, begin_wide_);
    last_begin_quanta_ = begin;
    duration_[at] = 0;
    if (duration_ns == 0) return;
    const std::uint32_t duration = duration_ns / duration_quantum_ns;
    duration_[at] = code_of_number(duration, duration_wide_);
    const std::uint64_t end_ns = begin * time_quantum_ns + std::uint64_t{duration} * duration_quantum_ns;
    if (end_ns > last_end_ns_) last_end_ns_ = end_ns;
  }

  [[gnu::always_inline]] void add_made_size(const Event& event) {
    const auto codes = sizes_.encode(event.stack, {event.size, event.usable}, size_wide_, usable_wide_);
    const std::uint32_t entry = addresses_.made_count();
    size_[entry] = codes.size;
    usable_[entry] = codes.usable;
  }

  // The code of a number; a number too large for a code also goes into the wide column.
  [[gnu::always_inline]] static std::uint8_t code_of_number(std::uint64_t value, base::ByteSink& wide) {
    if (value < code_wide) [[likely]] {
      return static_cast<std::uint8_t>(value);
    }
    wide.put(value - code_wide);
    return code_wide;
  }

  std::uint32_t count_ = 0;
  StackPredictor::Position stack_position_;
  std::uint64_t first_begin_quanta_ = 0;
  std::uint64_t last_begin_quanta_ = 0;
  std::uint64_t last_end_ns_ = 0;  // of events with a duration
  base::ByteSink begin_wide_;
  base::ByteSink duration_wide_;
  base::ByteSink stack_wide_;
  base::ByteSink size_wide_;
  base::ByteSink usable_wide_;
  base::ByteSink alignment_;
  KernelColumn kernel_;
  StackPredictor stacks_;
  SizePredictor sizes_;
  AddressEncoder addresses_;
  CodeColumn kind_;
  CodeColumn begin_;
  CodeColumn duration_;
  CodeColumn stack_;
  CodeColumn size_;
  CodeColumn usable_;
};

}  // namespace heapwright::trace
