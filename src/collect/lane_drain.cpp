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

// What is known of a kind, as bits.
constexpr std::uint8_t kind_known = 1;
constexpr std::uint8_t kind_allocates = 2;
using KindTable = std::array<std::uint8_t, 256>;

KindTable make_kind_table() {
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
  const TickConversion& conversion = clock.conversion();
  const std::uint64_t now_ticks = clock.now_ticks();
  if (count_ == 0) waiting_since_ns_ = conversion.since_epoch_ns(now_ticks);
  reserve(waiting);
  const std::uint64_t begin = tail_;
  tail_ = convert(begin, head, stacks, conversion, now_ticks + conversion.ticks_in(clock_slack_ns));
  give_back(tail_);
  return tail_ - begin;
}

// A pass per column group: few enough values at a time to stay in registers,
// and what is read from shared memory is read once, into the columns.
std::uint64_t LaneDrain::convert(std::uint64_t position, std::uint64_t end, StackDefinitions& stacks,
                                 const TickConversion& clock, std::uint64_t latest_ticks) {
  const std::uint32_t first = count_;
  position = copy_slots(position, end);
  const std::uint32_t last = count_;
  std::uint64_t* const begin = batch_.begin_ns.data();  // ticks until they are converted
  std::uint32_t* const stack = batch_.stack.data();     // the recorder's nodes until then
  for (std::uint32_t i = first; i < last; ++i) stack[i] = stacks.stack_id(stack[i], begin[i]);
  convert_times(first, clock, latest_ticks);
  taken_events_ += last - first;
  return position;
}

// Appends what the slots say, with times in ticks and stacks as nodes.
std::uint64_t LaneDrain::copy_slots(std::uint64_t position, std::uint64_t end) {
  EventKind* const kinds = batch_.kind.data();
  std::uint8_t* const alignment_log2 = batch_.alignment_log2.data();
  std::uint32_t* const duration_ticks = batch_.duration_ns.data();
  std::uint32_t* const node = batch_.stack.data();
  std::uint64_t* const begin_ticks = batch_.begin_ns.data();
  std::uint64_t* const size = batch_.size.data();
  std::uint64_t* const usable = batch_.usable.data();
  std::uint64_t* const address = batch_.address.data();
  const RawEvent* const ring = lane_.ring;
  std::uint32_t count = count_;
  for (; position != end && count < capacity_; ++position) {
    const RawEvent& slot = ring[position & ring_mask];
    const std::uint64_t address_and_kind = load_once(&slot.address_and_kind);
    const auto kind = static_cast<std::uint8_t>(address_and_kind);
    const std::uint8_t facts = kind_table[kind];
    if (facts == 0) [[unlikely]] {
      take_extension(slot, kind);
      continue;
    }
    begin_ticks[count] = load_once(&slot.begin_ticks);
    const std::uint64_t sizes = load_once(&slot.size);
    const std::uint64_t stack_and_duration = load_once(&slot.stack_node);
    const std::uint64_t address_here = address_and_kind >> 16;
    const std::uint64_t size_here = static_cast<std::uint32_t>(sizes);
    const std::uint64_t excess = sizes >> 32;
    const bool has_usable = excess != 0 || (address_here != 0 && (facts & kind_allocates) != 0);
    kinds[count] = EventKind{kind};
    alignment_log2[count] = static_cast<std::uint8_t>(address_and_kind >> 8) & 63;
    node[count] = static_cast<std::uint32_t>(stack_and_duration);
    duration_ticks[count] = static_cast<std::uint32_t>(stack_and_duration >> 32);
    size[count] = size_here;
    usable[count] = has_usable ? size_here + excess : 0;
    address[count] = address_here;
    if (has_extension_) [[unlikely]]
      apply_extension(count);
    ++count;
  }
  count_ = count;
  return position;
}

void LaneDrain::take_extension(const RawEvent& slot, std::uint8_t kind) noexcept {
  has_extension_ = kind == session::extension_kind;
  if (has_extension_) {
    extension_ = {load_once(&slot.begin_ticks), kind, load_once(&slot.size), load_once(&slot.stack_node)};
  } else {
    damaged_slots_ += 1;
  }
}

void LaneDrain::apply_extension(std::uint32_t event) noexcept {
  batch_.size[event] = extension_.size;
  batch_.usable[event] = extension_.usable;
  batch_.old_address[event] = extension_.old_address;
  has_extension_ = false;
  has_old_addresses_ = true;
}

// Times rise within a thread and lie in the past: what a truthful recorder
// writes, and what keeps a scribbled one from poisoning the file.
void LaneDrain::convert_times(std::uint32_t first, const TickConversion& clock, std::uint64_t latest_ticks) {
  const std::uint32_t last = count_;
  std::uint64_t* const begin = batch_.begin_ns.data();
  std::uint32_t* const duration = batch_.duration_ns.data();
  const TickConversion conversion = clock;
  std::uint64_t last_begin_ticks = std::max(last_begin_ticks_, conversion.epoch_ticks);
  for (std::uint32_t i = first; i < last; ++i) {
    const std::uint64_t ticks = begin[i] < latest_ticks ? begin[i] : latest_ticks;
    last_begin_ticks = ticks > last_begin_ticks ? ticks : last_begin_ticks;
    begin[i] = conversion.sane_length_ns(last_begin_ticks - conversion.epoch_ticks);
  }
  last_begin_ticks_ = last_begin_ticks;
  for (std::uint32_t i = first; i < last; ++i) {
    const std::uint64_t ns = conversion.sane_length_ns(duration[i]);
    duration[i] = static_cast<std::uint32_t>(ns < 0xffffffffU ? ns : 0xffffffffU);
  }
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
  if (has_old_addresses_) std::fill(batch_.old_address.begin(), batch_.old_address.end(), 0);
  has_old_addresses_ = false;
  if (keep_memory) {
    batch_.resize(capacity_);
  } else {
    set_capacity(0);
  }
}

}  // namespace heapwright::collect
