// SPDX-License-Identifier: MIT
#include "collect/lane_drain.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>

#include "platform/futex.hpp"

namespace heapwright::collect {

using session::RawEvent;
using trace::EventKind;

namespace {

constexpr std::uint32_t first_capacity = 64;
constexpr std::uint64_t event_bytes = 1 + 1 + 4 + 4 + 5 * 8;
constexpr std::uint64_t ring_mask = session::lane_ring_slots - 1;
static_assert(std::has_single_bit(session::lane_ring_slots));

using KindTable = std::array<bool, 256>;

KindTable make_known_kinds() {
  KindTable known{};
  for (std::size_t kind = 1; kind < trace::event_kind_limit; ++kind) {
    known[kind] = trace::name_of(static_cast<EventKind>(kind)) != "?";
  }
  return known;
}

const KindTable known_kinds = make_known_kinds();

// One load that the compiler may not repeat: the program may change the slot
// between a check and its use.
inline std::uint64_t load_once(const void* word) noexcept {
  return __atomic_load_n(static_cast<const std::uint64_t*>(word), __ATOMIC_RELAXED);
}

// The clock is read after the head, but the processor may do it earlier, and
// two cores' counters may differ a little. An event cut to a time before its
// predecessor's end would change the order of the two.
constexpr std::uint64_t clock_slack_ns = 1'000'000;

}  // namespace

LaneDrain::LaneDrain(session::Lane& lane, BufferBudget& budget) : lane_(lane), budget_(budget) {}

LaneDrain::~LaneDrain() { set_capacity(0); }

std::uint64_t LaneDrain::take(StackDefinitions& stacks, const TickClock& clock) {
  const std::uint64_t head = lane_.head.load(std::memory_order_acquire);
  std::uint64_t waiting = head - tail_;
  if (waiting == 0 || is_full()) return 0;
  if (waiting > session::lane_ring_slots) [[unlikely]] {
    damaged_slots_ += 1;
    tail_ = head - session::lane_ring_slots;
    waiting = session::lane_ring_slots;
  }
  const std::uint64_t now_ns = clock.now_ns();
  if (count_ == 0) waiting_since_ns_ = now_ns;
  reserve(waiting);
  const std::uint64_t begin = tail_;
  tail_ = convert(begin, head, stacks, clock.conversion(), now_ns + clock_slack_ns);
  give_back(tail_);
  return tail_ - begin;
}

std::uint64_t LaneDrain::convert(std::uint64_t position, std::uint64_t end, StackDefinitions& stacks,
                                 const TickConversion& clock, std::uint64_t latest_ns) {
  trace::EventBatch& to = batch_;
  std::uint32_t count = count_;
  std::uint64_t last_begin_ns = last_begin_ns_;
  for (; position != end && count < capacity_; ++position) {
    const RawEvent& slot = lane_.ring[position & ring_mask];
    const std::uint64_t begin_ticks = load_once(&slot.begin_ticks);
    const std::uint64_t address_and_kind = load_once(&slot.address_and_kind);
    const std::uint64_t sizes = load_once(&slot.size);
    const std::uint64_t stack_and_duration = load_once(&slot.stack_node);
    const auto kind = static_cast<std::uint8_t>(address_and_kind);
    if (kind == session::extension_kind) [[unlikely]] {
      extension_ = {begin_ticks, address_and_kind, sizes, stack_and_duration};
      has_extension_ = true;
      continue;
    }
    if (!known_kinds[kind]) [[unlikely]] {
      damaged_slots_ += 1;
      has_extension_ = false;
      continue;
    }
    const std::uint64_t address = address_and_kind >> 16;
    std::uint64_t size = static_cast<std::uint32_t>(sizes);
    const std::uint64_t excess = sizes >> 32;
    const bool has_usable = excess != 0 || (address != 0 && trace::is_allocation(EventKind{kind}));
    std::uint64_t usable = has_usable ? size + excess : 0;
    std::uint64_t old_address = 0;
    if (has_extension_) [[unlikely]] {
      size = extension_.size;
      usable = extension_.usable;
      old_address = extension_.old_address;
      has_extension_ = false;
    }
    // Times rise within a thread and lie in the past: what a truthful
    // recorder writes, and what keeps a scribbled one from poisoning the file.
    last_begin_ns = std::max(last_begin_ns, std::min(clock.since_epoch_ns(begin_ticks), latest_ns));
    const std::uint64_t duration_ns = clock.length_ns(stack_and_duration >> 32);
    to.kind[count] = EventKind{kind};
    to.alignment_log2[count] = static_cast<std::uint8_t>(address_and_kind >> 8) & 63;
    to.duration_ns[count] = static_cast<std::uint32_t>(std::min<std::uint64_t>(duration_ns, 0xffffffffU));
    to.stack[count] = stacks.stack_id(static_cast<std::uint32_t>(stack_and_duration), begin_ticks);
    to.begin_ns[count] = last_begin_ns;
    to.size[count] = size;
    to.usable[count] = usable;
    to.address[count] = address;
    to.old_address[count] = old_address;
    ++count;
  }
  taken_events_ += count - count_;
  count_ = count;
  last_begin_ns_ = last_begin_ns;
  return position;
}

void LaneDrain::give_back(std::uint64_t position) noexcept {
  lane_.tail.store(position, std::memory_order_seq_cst);
  // Pairs with the producer: it says that it waits, then looks at the tail.
  if (lane_.is_waiting.load(std::memory_order_seq_cst) == 0) return;
  lane_.space_futex.fetch_add(1, std::memory_order_release);
  platform::futex_wake(lane_.space_futex);
}

void LaneDrain::reserve(std::uint64_t slots) {
  const std::uint64_t wanted = std::min<std::uint64_t>(count_ + slots, trace::max_events_per_chunk);
  if (wanted <= capacity_) return;
  std::uint32_t capacity = std::max(capacity_, first_capacity);
  while (capacity < wanted) capacity *= 4;
  set_capacity(std::min<std::uint32_t>(capacity, trace::max_events_per_chunk));
}

void LaneDrain::set_capacity(std::uint32_t capacity) {
  budget_.used_bytes += capacity * event_bytes;
  budget_.used_bytes -= capacity_ * event_bytes;
  if (capacity == 0) {
    batch_ = {};
  } else {
    batch_.resize(capacity);
  }
  capacity_ = capacity;
}

const trace::EventBatch& LaneDrain::batch() {
  batch_.resize(count_);
  return batch_;
}

void LaneDrain::clear(bool keep_memory) {
  count_ = 0;
  if (keep_memory) {
    batch_.resize(capacity_);
  } else {
    set_capacity(0);
  }
}

}  // namespace heapwright::collect
