// SPDX-License-Identifier: MIT
// The producer's end of a lane: a finished call becomes a slot of the ring. Used by both the preloaded
// recorder and the agent that is mapped into a running process.
//
// Invariants, per thread:
//   lane->tail <= head == lane->head        (slots, since the claim)
//   head - lane->tail <= ring_mask + 1, the slots of the ring
//   head < limit  =>  the next slot is free
// tests/record/lane_model.cpp compiles this and the other end, collect/lane_end.hpp, with a model's atomics.
//
// A Thread has lane, head, limit and ring_mask. A Reader has control (of the session), ticks_are_tsc,
// is_alive(), which is false once no reader will ever empty the ring, is_confined(), which is true when a
// system call may end the program, and waits(): whether a call may wait for room, or is dropped.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "platform/clock.hpp"
#include "platform/futex.hpp"
#include "platform/pause.hpp"
#include "session/layout.hpp"
#include "trace/event_kind.hpp"

namespace heapwright::record {

// Beside these: those of a model's futex words.
using platform::futex_wait;
using platform::futex_wake;
using trace::EventKind;

// One finished call, before it becomes a slot.
struct Call {
  EventKind kind;
  std::uint8_t alignment_log2 = 0;
  std::uint64_t begin_ticks = 0;
  std::uint64_t duration_ticks = 0;
  std::uint64_t size = 0;
  std::uint64_t usable = 0;
  std::uint64_t address = 0;
  std::uint64_t old_address = 0;
  std::uint32_t stack_node = 0;
};

// The collector wakes waiting threads; a missing wake-up leads to a check whether it is gone. The checks are
// rare, because thousands of threads may wait at once.
inline constexpr std::uint64_t first_wait_ns = 10'000'000;
inline constexpr std::uint64_t longest_wait_ns = 640'000'000;
inline constexpr int pauses_per_check = 1000;  // of a confined thread

// Initializes a lane for its new thread; the caller makes it live.
inline void begin_lane(session::Lane& lane, std::uint32_t thread_id, std::uint64_t now_ticks,
                       const void* stack) noexcept {
  lane.head.store(0, std::memory_order_relaxed);
  lane.tail.store(0, std::memory_order_relaxed);
  for (auto* counter : {&lane.dropped_reentrant, &lane.dropped_full, &lane.waits, &lane.waited_ticks,
                        &lane.self_allocation_ticks, &lane.self_allocation_samples, &lane.self_release_ticks,
                        &lane.self_release_samples}) {
    counter->store(0, std::memory_order_relaxed);
  }
  lane.thread_id = thread_id;
  lane.first_ticks = now_ticks;
  lane.stack_address = reinterpret_cast<std::uint64_t>(stack);
  lane.generation.fetch_add(1, std::memory_order_relaxed);
  lane.state.store(session::lane_live, std::memory_order_release);
}

// Sleeps while `word` holds `seen`, at most `wait_ns`; a confined thread spins for a while instead. Both may
// return early.
template <typename Word, typename Reader>
void rest(Word& word, std::uint32_t seen, std::uint64_t wait_ns, const Reader& reader) noexcept {
  if (!reader.is_confined()) return futex_wait(word, seen, wait_ns);
  for (int i = 0; i < pauses_per_check && word.load(std::memory_order_acquire) == seen; ++i) {
    platform::pause();
  }
}

// A confined thread cannot wake the collector, which therefore sleeps less meanwhile.
template <typename Reader>
void wake_collector(const Reader& reader) noexcept {
  auto& sleeps = reader.control.collector_sleeps;
  if (!reader.is_confined() && sleeps.exchange(0) != 0) futex_wake(sleeps);
}

template <typename Thread, typename Reader>
bool wait_for_room(Thread& thread, std::uint64_t slots, const Reader& reader) noexcept {
  auto& lane = *thread.lane;
  const std::uint64_t since = platform::read_ticks(reader.ticks_are_tsc);
  bool has_room = false;
  for (std::uint64_t wait_ns = first_wait_ns;; wait_ns = std::min(2 * wait_ns, longest_wait_ns)) {
    lane.is_waiting.store(1, std::memory_order_seq_cst);
    const std::uint32_t seen = lane.space_futex.load(std::memory_order_acquire);
    has_room = thread.head - lane.tail.load(std::memory_order_seq_cst) + slots <= thread.ring_mask + 1;
    if (has_room || !reader.is_alive()) break;
    wake_collector(reader);
    rest(lane.space_futex, seen, wait_ns, reader);
  }
  lane.is_waiting.store(0, std::memory_order_relaxed);
  lane.waits.fetch_add(1, std::memory_order_relaxed);
  lane.waited_ticks.fetch_add(platform::read_ticks(reader.ticks_are_tsc) - since, std::memory_order_relaxed);
  return has_room;
}

// Makes room for `slots` more slots; waits for the collector if necessary. False: the collector is gone, or
// nobody is to wait for it, and the event is counted as dropped.
template <typename Thread, typename Reader>
bool make_room_in(Thread& thread, std::uint64_t slots, const Reader& reader) noexcept {
  auto& lane = *thread.lane;
  const std::uint64_t ring = thread.ring_mask + 1;
  std::uint64_t used = thread.head - lane.tail.load(std::memory_order_acquire);
  if (used >= ring / 2 && reader.control.collector_sleeps.load(std::memory_order_relaxed) != 0) {
    wake_collector(reader);
  }
  if (used + slots > ring && (!reader.waits() || !wait_for_room(thread, slots, reader))) {
    lane.dropped_full.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  const std::uint64_t tail = lane.tail.load(std::memory_order_acquire);
  used = thread.head - tail;
  thread.limit = tail + (used + slots <= ring / 2 ? ring / 2 : ring);
  return true;
}

[[gnu::always_inline]] inline std::uint64_t pack_address(const Call& call) noexcept {
  return call.address << 16 | std::uint64_t{call.alignment_log2} << 8 | static_cast<std::uint8_t>(call.kind);
}

// Whether the call fits into one slot, without an extension slot before it.
[[gnu::always_inline]] inline bool fits_one_slot(const Call& call) noexcept {
  return call.old_address == 0 && call.size < 0xffffffffU &&
         (call.usable == 0 || call.usable - call.size < 0xffffffffU);
}

// A call that fits into one slot; there is room.
template <typename Thread>
[[gnu::always_inline]] inline void write_slot(Thread& thread, const Call& call) noexcept {
  auto& lane = *thread.lane;
  auto& slot = lane.ring[thread.head & thread.ring_mask];
  slot.begin_ticks = call.begin_ticks;
  slot.address_and_kind = pack_address(call);
  slot.size = static_cast<std::uint32_t>(call.size);
  slot.usable_excess = call.usable == 0 ? 0 : static_cast<std::uint32_t>(call.usable - call.size);
  slot.stack_node = call.stack_node;
  slot.duration_ticks =
      call.duration_ticks > 0xffffffffU ? 0xffffffffU : static_cast<std::uint32_t>(call.duration_ticks);
  lane.head.store(++thread.head, std::memory_order_release);
}

// A call that does not fit; there is room for two slots.
template <typename Thread>
void write_two_slots(Thread& thread, const Call& call) noexcept {
  session::Lane& lane = *thread.lane;
  const session::RawExtension extension{.old_address = call.old_address,
                                        .address_and_kind = session::extension_kind,
                                        .size = call.size,
                                        .usable = call.usable};
  std::memcpy(&lane.ring[thread.head & thread.ring_mask], &extension, sizeof extension);
  session::RawEvent& slot = lane.ring[(thread.head + 1) & thread.ring_mask];
  slot.begin_ticks = call.begin_ticks;
  slot.address_and_kind = pack_address(call);
  slot.size = 0;
  slot.usable_excess = 0;
  slot.stack_node = call.stack_node;
  slot.duration_ticks = static_cast<std::uint32_t>(std::min<std::uint64_t>(call.duration_ticks, 0xffffffffU));
  // Both slots become visible together.
  thread.head += 2;
  lane.head.store(thread.head, std::memory_order_release);
}

}  // namespace heapwright::record
