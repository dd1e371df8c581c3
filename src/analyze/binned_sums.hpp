// SPDX-License-Identifier: MIT
// Sums by key (a stack, a thread) and time bin, stored only where there is something to store.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/zeroed_array.hpp"

namespace heapwright::analyze {

struct BinnedSum {
  std::uint32_t key = 0;
  std::uint32_t bin = 0;
  std::uint64_t allocations = 0;
  std::uint64_t releases = 0;
  std::uint64_t bytes = 0;
  std::uint64_t allocator_ns = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t live_blocks = 0;

  void add(const BinnedSum& other) noexcept {
    allocations += other.allocations;
    releases += other.releases;
    bytes += other.bytes;
    allocator_ns += other.allocator_ns;
  }
};

// What a key holds.
struct Held {
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
};

// Not thread-safe. Memory: 56 bytes per row and per key.
class BinnedSums {
 public:
  // keys: all keys are smaller.
  explicit BinnedSums(std::size_t keys);

  // Adds to the open bin.
  void add(const BinnedSum& calls) {
    auto& sum = open_[calls.key];
    if (sum.bin == 0) {
      sum.bin = 1;
      touched_.push_back(calls.key);
    }
    sum.add(calls);
  }
  // Ends the open bin: adds a row for each key with calls.
  void close(std::uint32_t bin);
  // The same, and a row for each key whose held value changed. held_by(key): Held.
  // Complexity: O(keys).
  template <typename HeldBy>
  void close(std::uint32_t bin, const HeldBy& held_by) {
    for (std::uint32_t key = 0; key < open_.size(); ++key) {
      auto& sum = open_[key];
      const Held held = held_by(key);
      if (sum.bin != 0 || sum.live_bytes != held.bytes || sum.live_blocks != held.blocks) {
        sum.live_bytes = held.bytes;
        sum.live_blocks = held.blocks;
        put(key, bin);
      }
    }
    touched_.clear();
  }
  // Merges bins 1 and 2 into bin 1, 3 and 4 into bin 2, and so on.
  void fold();
  // By bin.
  const std::vector<BinnedSum>& rows() const noexcept { return rows_; }

 private:
  void put(std::uint32_t key, std::uint32_t bin);

  ZeroedArray<BinnedSum> open_;  // by key; bin: 1 when it has calls
  std::vector<std::uint32_t> touched_;
  std::vector<BinnedSum> rows_;
};

}  // namespace heapwright::analyze
