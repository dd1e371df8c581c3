// SPDX-License-Identifier: MIT
// Whether memory waits to be returned to the kernel, and the ticks that date it.
#pragma once

#include <atomic>
#include <cstdint>

#include "heap/base/clock.hpp"

namespace heapwright::heap {

struct alignas(64) Waiting {
  std::atomic<std::uint32_t> is_there;  // memory waits
  std::atomic<std::uint16_t> tick;
};
inline constinit Waiting waiting{};

// 1/64 s; wraps around. Stamps freed runs and pooled slabs.
inline constexpr std::uint64_t tick_ns = 15'625'000;
inline std::uint16_t current_tick() noexcept { return waiting.tick.load(std::memory_order_relaxed); }
// Sets the tick from the clock.
inline void update_tick() noexcept {
  waiting.tick.store(static_cast<std::uint16_t>(coarse_ns() / tick_ns), std::memory_order_relaxed);
}

}  // namespace heapwright::heap
