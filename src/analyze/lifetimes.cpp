// SPDX-License-Identifier: MIT
#include "analyze/lifetimes.hpp"

namespace heapwright::analyze {

Lifetimes::Lifetimes() {
  std::uint64_t decade = 100;
  for (std::size_t column = 1; column < lifetime_columns; ++column) {
    const bool is_half = column % 2 == 0;
    from_ns_[column] = is_half ? decade * 316 / 100 : decade;
    decade *= is_half ? 10 : 1;
  }
  from_ns_[lifetime_columns] = UINT64_MAX;
  std::size_t column = 0;
  for (std::size_t bucket = 0; bucket < buckets_used; ++bucket) {
    while (column + 1 < lifetime_columns && lower_bound_of(bucket) >= from_ns_[column + 1]) {
      ++column;
    }
    column_of_bucket_[bucket] = static_cast<std::uint8_t>(column);
  }
}

void Lifetimes::add(const Lifetimes& other) noexcept {
  for (std::size_t row = 0; row < size_class_count; ++row) {
    for (std::size_t column = 0; column < lifetime_columns; ++column) {
      cells_[row][column].blocks += other.cells_[row][column].blocks;
      cells_[row][column].bytes += other.cells_[row][column].bytes;
    }
  }
}

LifetimeMap Lifetimes::finish(const LivePeak& live) const {
  LifetimeMap map;
  map.lifetime_from_ns.assign(from_ns_.begin(), from_ns_.end() - 1);
  std::size_t first = size_class_count;
  std::size_t last = 0;
  const auto is_used = [&](std::size_t row) {
    if (live.size_class(row).blocks != 0) {
      return true;
    }
    for (const auto& cell : cells_[row]) {
      if (cell.blocks != 0) {
        return true;
      }
    }
    return false;
  };
  for (std::size_t row = 0; row < size_class_count; ++row) {
    if (is_used(row)) {
      first = first == size_class_count ? row : first;
      last = row;
    }
  }
  for (std::size_t row = first; row <= last && row < size_class_count; ++row) {
    map.size_from_bytes.push_back(size_class_from(row));
    for (const auto& cell : cells_[row]) {
      map.blocks.push_back(cell.blocks);
      map.bytes.push_back(cell.bytes);
    }
    map.blocks.push_back(live.size_class(row).blocks);
    map.bytes.push_back(live.size_class(row).bytes);
  }
  return map;
}

}  // namespace heapwright::analyze
