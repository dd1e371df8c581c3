// SPDX-License-Identifier: MIT
#include "analyze/binned_sums.hpp"

#include <unordered_map>

namespace heapwright::analyze {

BinnedSums::BinnedSums(std::size_t keys) : open_(keys) {}

void BinnedSums::close(std::uint32_t bin) {
  for (const auto key : touched_) {
    put(key, bin);
  }
  touched_.clear();
}

// Keeps what the key holds and resets its calls.
void BinnedSums::put(std::uint32_t key, std::uint32_t bin) {
  auto& sum = open_[key];
  auto row = sum;
  row.key = key;
  row.bin = bin;
  rows_.push_back(row);
  sum = {};
  sum.live_bytes = row.live_bytes;
  sum.live_blocks = row.live_blocks;
}

void BinnedSums::fold() {
  std::unordered_map<std::uint32_t, std::size_t> places;  // of the keys in the current bin
  std::size_t end = 0;
  std::uint32_t bin = 0;
  for (auto row : rows_) {
    row.bin = (row.bin + 1) / 2;
    if (row.bin != bin) {
      places.clear();
      bin = row.bin;
    }
    const auto [place, is_new] = places.try_emplace(row.key, end);
    if (is_new) {
      rows_[end++] = row;
    } else {
      auto& earlier = rows_[place->second];
      earlier.add(row);
      earlier.live_bytes = row.live_bytes;
      earlier.live_blocks = row.live_blocks;
    }
  }
  rows_.resize(end);
}

}  // namespace heapwright::analyze
