// SPDX-License-Identifier: MIT
// Poisson sampling by bytes, for production: a block of `size` bytes is
// recorded with probability 1 - exp(-size / mean), so that 1 / probability is
// an unbiased weight. Releases are recorded for sampled blocks only; a
// process-wide set of their addresses tells them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "record/lane.hpp"

namespace heapwright::record {

// Makes the set. False when there is no memory for it.
bool prepare_sampling(std::uint64_t mean_bytes) noexcept;

// take_sample() where count_down() did not.
bool end_interval(ThreadRecorder& thread, std::size_t size) noexcept;

// False where the interval is over, or none was drawn yet: then nothing has changed.
[[gnu::always_inline]] inline bool count_down(ThreadRecorder& thread, std::size_t size) noexcept {
  const std::uint64_t bytes = size + (size == 0 ? 1 : 0);
  const auto left = static_cast<std::uint64_t>(thread.bytes_to_sample);  // 0: not drawn
  if (bytes >= left) [[unlikely]] {
    return false;
  }
  thread.bytes_to_sample = static_cast<std::int64_t>(left - bytes);
  return true;
}

// Whether this allocation is to be recorded. A subtraction, mostly.
[[gnu::always_inline]] inline bool take_sample(ThreadRecorder& thread, std::size_t size) noexcept {
  return !count_down(thread, size) && end_interval(thread, size);
}

// Remembers a sampled block. False when the set is full: then it must not be
// recorded, for its release would be missed.
bool remember_sample(const void* block) noexcept;

// The same of the allocation that take_sample() took last, told to who listens at the probe
// otel_memory:alloc(address, size, weight in bytes).
bool begin_sample(const ThreadRecorder& thread, const void* block, std::size_t size) noexcept;

// Tells at otel_memory:free(address) that a sampled block, forgotten by now, is released.
void end_sample(const void* block) noexcept;

// How many sampled blocks have a hash that begins like this. Beside the set, whose lines are too many for a
// cache: nearly all releases are told by one byte here. A byte holds a few buckets of the set, and never
// overflows.
inline constexpr unsigned alike_log2 = 16;
[[gnu::visibility("hidden")]] extern constinit std::atomic<std::uint8_t> samples_alike[1U << alike_log2];

inline std::uint64_t hash_of(const void* block) noexcept {
  return (reinterpret_cast<std::uintptr_t>(block) >> 4) * 0x9e3779b97f4a7c15ULL;
}

// False: the block was not sampled.
[[gnu::always_inline]] inline bool may_be_sampled(const void* block) noexcept {
  return samples_alike[hash_of(block) >> (64 - alike_log2)].load(std::memory_order_relaxed) != 0;
}

// Forgets `block`; true when it was sampled. Lock-free.
bool forget_sample(const void* block) noexcept;

}  // namespace heapwright::record
