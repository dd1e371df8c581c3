// SPDX-License-Identifier: MIT
// The consumer's end of a lane, as far as it meets the producer's (record/ring.hpp).
// tests/record/lane_model.cpp compiles both with a model's atomics.
#pragma once

#include <atomic>
#include <cstdint>

#include "platform/futex.hpp"

namespace heapwright::collect {

// Beside this: that of a model's futex words.
using platform::futex_wake;

// The slots before it are whole.
template <typename Lane>
std::uint64_t written_slots(const Lane& lane) noexcept {
  return lane.head.load(std::memory_order_acquire);
}

// The producer may write over the slots before `position`.
template <typename Lane>
void give_back(Lane& lane, std::uint64_t position) noexcept {
  lane.tail.store(position, std::memory_order_seq_cst);
  // Pairs with the producer, which sets is_waiting and then reads the tail.
  if (lane.is_waiting.load(std::memory_order_seq_cst) == 0) return;
  lane.space_futex.fetch_add(1, std::memory_order_release);
  futex_wake(lane.space_futex);
}

}  // namespace heapwright::collect
