// SPDX-License-Identifier: MIT
// The blocks of a process that were sampled and live, by which their releases are told from all others.
// Lock-free.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heapwright::record {

// Buckets of one cache line: a look-up never goes further, so that nothing has to mark where a probe may
// stop.
inline constexpr std::size_t sample_bucket_slots = 8;
inline constexpr unsigned sample_buckets_log2 = 18;
inline constexpr std::size_t sample_slots = sample_bucket_slots << sample_buckets_log2;
inline constexpr unsigned samples_alike_log2 = 16;
static_assert(sample_bucket_slots << (sample_buckets_log2 - samples_alike_log2) < 256);

// Memory that the set is kept in, zeroed.
using SampleSlots = std::atomic<std::uintptr_t>[sample_slots];
// How many sampled blocks have a hash that begins like this. Beside the set, whose lines are too many for a
// cache: nearly all releases are told by one byte here. A byte holds a few buckets of the set, and never
// overflows.
using SamplesAlike = std::atomic<std::uint8_t>[1U << samples_alike_log2];

class SampledBlocks {
 public:
  SampledBlocks(SampleSlots& slots, SamplesAlike& alike) noexcept : slots_(slots), alike_(alike) {}

  // False when there is no room: then the block must not be recorded, for its release would be missed.
  bool add(const void* block) const noexcept {
    std::atomic<std::uintptr_t>* const bucket = bucket_of(block);
    for (std::size_t i = 0; i < sample_bucket_slots; ++i) {
      std::uintptr_t empty = 0;
      if (!bucket[i].compare_exchange_strong(empty, reinterpret_cast<std::uintptr_t>(block),
                                             std::memory_order_relaxed)) {
        continue;
      }
      alike_of(block).fetch_add(1, std::memory_order_relaxed);
      return true;
    }
    return false;
  }

  // False: the block is not in it.
  [[gnu::always_inline]] bool may_hold(const void* block) const noexcept {
    return alike_of(block).load(std::memory_order_relaxed) != 0;
  }

  // True when it was there.
  bool remove(const void* block) const noexcept {
    if (!may_hold(block)) return false;
    std::atomic<std::uintptr_t>* const bucket = bucket_of(block);
    for (std::size_t i = 0; i < sample_bucket_slots; ++i) {
      if (bucket[i].load(std::memory_order_relaxed) != reinterpret_cast<std::uintptr_t>(block)) continue;
      alike_of(block).fetch_sub(1, std::memory_order_relaxed);
      bucket[i].store(0, std::memory_order_relaxed);
      return true;
    }
    return false;
  }

 private:
  static std::uint64_t hash_of(const void* block) noexcept {
    return (reinterpret_cast<std::uintptr_t>(block) >> 4) * 0x9e3779b97f4a7c15ULL;
  }
  std::atomic<std::uint8_t>& alike_of(const void* block) const noexcept {
    return alike_[hash_of(block) >> (64 - samples_alike_log2)];
  }
  std::atomic<std::uintptr_t>* bucket_of(const void* block) const noexcept {
    return slots_ + (hash_of(block) >> (64 - sample_buckets_log2)) * sample_bucket_slots;
  }

  std::atomic<std::uintptr_t>* slots_;
  std::atomic<std::uint8_t>* alike_;
};

}  // namespace heapwright::record
