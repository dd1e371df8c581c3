// SPDX-License-Identifier: MIT
#include "analyze/lifetimes.hpp"

namespace heapwright::analyze {

Lifetimes::Lifetimes(std::size_t site_count) : sites_(site_count) {
  std::uint64_t decade = 100;
  for (std::size_t column = 1; column < lifetime_columns; ++column) {
    const bool is_half = column % 2 == 0;
    from_ns_[column] = is_half ? decade * 316 / 100 : decade;
    decade *= is_half ? 10 : 1;
  }
  from_ns_[lifetime_columns] = UINT64_MAX;
  std::size_t column = 0;
  for (std::size_t bucket = 0; bucket < buckets_used; ++bucket) {
    while (column + 1 < lifetime_columns && analyze::lower_bound_of(bucket) >= from_ns_[column + 1]) {
      ++column;
    }
    column_of_bucket_[bucket] = static_cast<std::uint8_t>(column);
  }
}

void Lifetimes::add(const Lifetimes& other) {
  for (std::size_t row = 0; row < size_class_count; ++row) {
    for (std::size_t column = 0; column < lifetime_columns; ++column) {
      cells_[row][column].blocks += other.cells_[row][column].blocks;
      cells_[row][column].bytes += other.cells_[row][column].bytes;
    }
  }
  others_.push_back(&other);
}

void Lifetimes::finish(const LivePeak& live, Facts& facts) const {
  auto& map = facts.lifetimes;
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
  for (std::uint32_t site = 0; site < facts.site_details.size(); ++site) {
    auto& counts = facts.site_details[site].lifetimes_ns.counts;
    sites_.add_to(site, counts);
    for (const auto* other : others_) {
      other->sites_.add_to(site, counts);
    }
  }
  facts.site_details_cut = facts.site_details_cut || sites_.is_cut();
  for (const auto* other : others_) {
    facts.site_details_cut = facts.site_details_cut || other->sites_.is_cut();
  }
}

}  // namespace heapwright::analyze
