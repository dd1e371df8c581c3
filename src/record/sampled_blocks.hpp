// SPDX-License-Identifier: MIT
// The live sampled blocks of a process, by which their releases are told from all others. Lock-free.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heapwright::record {

// Buckets of one cache line: a lookup never goes beyond its bucket, so no marker is needed to end a probe.
inline constexpr std::size_t sample_bucket_slots = 8;
inline constexpr unsigned sample_buckets_log2 = 18;
inline constexpr std::size_t sample_slots = sample_bucket_slots << sample_buckets_log2;
inline constexpr unsigned samples_alike_log2 = 16;
static_assert(sample_bucket_slots << (sample_buckets_log2 - samples_alike_log2) < 256);

// The zeroed memory of the set.
using SampleSlots = std::atomic<std::uintptr_t>[sample_slots];
// The number of sampled blocks whose hash begins with these bits. Kept next to the set, which is too large
// for a cache: one byte here decides nearly all releases. A byte covers a few buckets of the set, and cannot
// overflow.
using SamplesAlike = std::atomic<std::uint8_t>[1U << samples_alike_log2];

// The slot pages that were ever written to, one bit each: they stay resident.
using SamplePages = std::atomic<std::uint64_t>[sizeof(SampleSlots) / 4096 / 64];

class SampledBlocks {
 public:
  // resident_bytes: increased by the slots' resident bytes.
  SampledBlocks(SampleSlots& slots, SamplesAlike& alike, SamplePages& pages,
                std::atomic<std::uint64_t>& resident_bytes) noexcept
      : slots_(slots), alike_(alike), pages_(pages), resident_bytes_(resident_bytes) {}

  // False if there is no room: then the block must not be recorded, because its release would be missed.
  bool add(const void* block) const noexcept {
    std::atomic<std::uintptr_t>* const bucket = bucket_of(block);
    for (std::size_t i = 0; i < sample_bucket_slots; ++i) {
      std::uintptr_t empty = 0;
      if (!bucket[i].compare_exchange_strong(empty, reinterpret_cast<std::uintptr_t>(block),
                                             std::memory_order_relaxed)) {
        continue;
      }
      alike_of(block).fetch_add(1, std::memory_order_relaxed);
      note_page_of(bucket);
      return true;
    }
    return false;
  }

  // False: the block is not in the set.
  [[gnu::always_inline]] bool may_hold(const void* block) const noexcept {
    return alike_of(block).load(std::memory_order_relaxed) != 0;
  }

  // True if it was in the set.
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

  void note_page_of(const std::atomic<std::uintptr_t>* bucket) const noexcept {
    constexpr std::uint64_t page_bytes = 4096;
    const auto page = static_cast<std::uint64_t>(bucket - slots_) * sizeof *bucket / page_bytes;
    const std::uint64_t bit = std::uint64_t{1} << (page % 64);
    if ((pages_[page / 64].load(std::memory_order_relaxed) & bit) != 0) return;
    if ((pages_[page / 64].fetch_or(bit, std::memory_order_relaxed) & bit) != 0) return;
    resident_bytes_.fetch_add(page_bytes, std::memory_order_relaxed);
  }

  std::atomic<std::uintptr_t>* slots_;
  std::atomic<std::uint8_t>* alike_;
  std::atomic<std::uint64_t>* pages_;
  std::atomic<std::uint64_t>& resident_bytes_;
};

}  // namespace heapwright::record
