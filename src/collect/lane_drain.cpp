// SPDX-License-Identifier: MIT
#include "collect/lane_drain.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>

#include "trace/kind_names.hpp"

namespace heapwright::collect {

using session::RawEvent;
using trace::EventKind;

namespace {

static_assert(std::has_single_bit(session::lane_ring_slots) &&
              std::has_single_bit(session::small_ring_slots));
// Properties of an event kind, as bits.
constexpr std::uint8_t kind_known = 1;
constexpr std::uint8_t kind_allocates = 2;
using KindTable = std::array<std::uint8_t, 256>;

KindTable make_kind_table() noexcept {
  KindTable table{};
  for (std::size_t value = 1; value < trace::event_kind_limit; ++value) {
    const auto kind = static_cast<EventKind>(value);
    if (trace::name_of(kind) == "?") continue;
    table[value] = trace::is_allocation(kind) ? kind_known | kind_allocates : kind_known;
  }
  return table;
}

const KindTable kind_table = make_kind_table();

// One load that the compiler may not repeat: the program may change the slot
// between a check and its use.
inline std::uint64_t load_once(const void* word) noexcept {
  return __atomic_load_n(static_cast<const std::uint64_t*>(word), __ATOMIC_RELAXED);
}

// The clock is read after the head, but the processor may reorder that, and two cores' counters may differ a
// little. If an event were clipped to a time before the end of its predecessor, the two would swap their
// order.
constexpr std::uint64_t clock_slack_ns = 1'000'000;

}  // namespace

void LaneDrain::take(StackDefinitions& stacks, const TickClock& clock) {
  const std::uint64_t head = written_slots(lane_);
  if (head == tail_) return;
  if (head - tail_ > ring_slots_) [[unlikely]] {
    damaged_slots_ += 1;
    tail_ = head - ring_slots_;
  }
  PendingWork* work = nullptr;
  if (kernel_ != nullptr) {
    kernel_->catch_up();  // after reading the head: see kernel_events.hpp
    work = kernel_->of(thread_id_);
  }
  if (encoder_ == nullptr) encoder_ = encoders_.take(last_begin_ns_);
  const TickConversion& conversion = clock.conversion();
  const std::uint64_t latest_ticks = clock.now_ticks() + conversion.ticks_in(clock_slack_ns);
  while (tail_ != head && !is_chunk_full()) {
    const std::uint64_t room = trace::max_events_per_chunk - encoder_->count();
    const std::uint64_t part = std::min({head - tail_, room, part_slots});
    encode(tail_, tail_ + part, stacks, conversion, latest_ticks, work);
    tail_ += part;
    give_back(lane_, tail_);
  }
}

// Looked up for all slots of a part before any is encoded: the stack table is large, and this lets the
// processor overlap its cache misses.
LaneDrain::StackIds LaneDrain::stacks_of(std::uint64_t position, std::uint64_t end,
                                         StackDefinitions& stacks) {
  StackIds ids;
  for (std::size_t i = 0; position != end; ++position, ++i) {
    const RawEvent& slot = lane_.ring[position & (ring_slots_ - 1)];
    const auto kind = static_cast<std::uint8_t>(load_once(&slot.address_and_kind));
    const auto node = static_cast<std::uint32_t>(load_once(&slot.stack_node));
    const std::uint8_t facts = kind_table[kind];
    if (facts == 0) [[unlikely]] {
      ids[i] = 0;
      if (kind == session::context_kind) take_context(slot, stacks);
    } else {
      ids[i] = stacks.stack_id(node, (facts & kind_allocates) != 0 || node != 0 ? context_ : 0);
    }
  }
  return ids;
}

// Its length is the program's word: bounded here, as is that of the whole name.
void LaneDrain::take_context(const RawEvent& slot, StackDefinitions& stacks) {
  session::RawContext raw;
  std::array<std::uint64_t, sizeof raw / sizeof(std::uint64_t)> words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = load_once(reinterpret_cast<const std::uint64_t*>(&slot) + i);
  }
  std::memcpy(&raw, words.data(), sizeof raw);
  std::array<char, session::context_slot_bytes> text;
  std::memcpy(text.data(), &raw.text_begin, sizeof raw.text_begin);
  std::memcpy(text.data() + sizeof raw.text_begin, raw.text_rest, sizeof raw.text_rest);
  const std::size_t length = std::min<std::uint64_t>(raw.length_and_kind >> 16, text.size());
  context_text_.append(text.data(), length);
  const bool is_last = (raw.length_and_kind >> 8 & 1) != 0;
  if (!is_last && context_text_.size() < session::longest_context_bytes) return;
  context_ = stacks.context(context_text_);
  context_text_.clear();
}

// The chunk must have room for all slots. A program that changes a slot after its stack was looked up gets
// some existing stack, or none.
void LaneDrain::encode(std::uint64_t position, std::uint64_t end, StackDefinitions& stacks,
                       const TickConversion& clock, std::uint64_t latest_ticks, PendingWork* work) {
  trace::EventEncoder& encoder = *encoder_;
  const RawEvent* const ring = lane_.ring;
  const std::uint64_t ring_mask = ring_slots_ - 1;
  const TickConversion conversion = clock;
  const StackIds stack_ids = stacks_of(position, end, stacks);
  const std::uint32_t* stack = stack_ids.data();
  bool has_extension = has_extension_;
  std::uint64_t next_work_ns = work == nullptr ? UINT64_MAX : work->first_ns();
  for (; position != end; ++position, ++stack) {
    const RawEvent& slot = ring[position & ring_mask];
    const std::uint64_t address_and_kind = load_once(&slot.address_and_kind);
    const auto kind = static_cast<std::uint8_t>(address_and_kind);
    const std::uint8_t facts = kind_table[kind];
    if (facts == 0) [[unlikely]] {
      if (kind == session::context_kind) continue;
      has_extension = take_extension(slot, kind);
      continue;
    }
    // Times must lie in the past, as an intact recorder writes them; this keeps a corrupted one from ruining
    // the file.
    const std::uint64_t begin_ticks =
        std::clamp(load_once(&slot.begin_ticks), conversion.epoch_ticks, latest_ticks);
    const std::uint64_t sizes = load_once(&slot.size);
    const std::uint64_t duration_ticks = load_once(&slot.stack_node) >> 32;
    const std::uint64_t duration_ns = duration_ticks == 0 ? 0 : conversion.sane_length_ns(duration_ticks);
    const std::uint64_t excess = sizes >> 32;
    trace::Event event;
    event.kind = EventKind{kind};
    event.alignment_log2 = static_cast<std::uint8_t>(address_and_kind >> 8) & 63;
    event.address = address_and_kind >> 16;
    event.size = static_cast<std::uint32_t>(sizes);
    const bool has_usable = excess != 0 || (event.address != 0 && (facts & kind_allocates) != 0);
    event.usable = has_usable ? event.size + excess : 0;
    event.stack = *stack;
    event.begin_ns = conversion.sane_length_ns(begin_ticks - conversion.epoch_ticks);
    event.duration_ns = static_cast<std::uint32_t>(std::min<std::uint64_t>(duration_ns, 0xffffffffU));
    if (has_extension) [[unlikely]] {
      event.size = extension_.size;
      event.usable = extension_.usable;
      event.old_address = extension_.old_address;
      has_extension = false;
    }
    encoder.add(event);
    if (event.begin_ns + event.duration_ns >= next_work_ns && work != nullptr) [[unlikely]] {
      next_work_ns = add_kernel_work(event, *work);
    }
  }
  has_extension_ = has_extension;
}

// For the event that was encoded last. Returns when the next kernel work begins.
[[gnu::noinline]] std::uint64_t LaneDrain::add_kernel_work(const trace::Event& event, PendingWork& work) {
  const trace::KernelWork done = work.take(event.begin_ns, event.begin_ns + event.duration_ns);
  if (!done.is_nothing()) encoder_->add_kernel_work(done);
  return work.first_ns();
}

// False: the slot is not an extension.
bool LaneDrain::take_extension(const RawEvent& slot, std::uint8_t kind) noexcept {
  if (kind != session::extension_kind) {
    damaged_slots_ += 1;
    return false;
  }
  extension_ = {load_once(&slot.begin_ticks), kind, load_once(&slot.size), load_once(&slot.stack_node)};
  return true;
}

void LaneDrain::end_chunk() noexcept {
  if (encoder_ == nullptr) return;
  ended_events_ += encoder_->count();
  last_begin_ns_ = encoder_->last_begin_ns();
  waiting_since_ns_ = 0;
  encoders_.give_back(std::move(encoder_));
}

}  // namespace heapwright::collect
