// SPDX-License-Identifier: MIT
#include "analyze/mappings.hpp"

#include <algorithm>

#include "analyze/facts/mappings.hpp"

namespace heapwright::analyze {
namespace {

constexpr std::uint64_t page_bytes = 4096;

std::uint64_t end_of(std::uint64_t address, std::uint64_t bytes) noexcept {
  constexpr auto last = ~(page_bytes - 1);
  if (bytes > last || address > last - bytes) {
    return last;
  }
  return (address + bytes + page_bytes - 1) & ~(page_bytes - 1);
}

}  // namespace

void Mappings::map(std::uint64_t address, std::uint64_t bytes, std::uint32_t stack, bool is_chosen) {
  const auto end = end_of(address, bytes);
  if (end <= address) {
    return;
  }
  remove(address, end);
  ranges_[address] = {end, stack, is_chosen};
  if (is_chosen) {
    auto& sums = sums_[stack];
    ++sums.calls;
    sums.bytes += end - address;
  }
}

void Mappings::unmap(std::uint64_t address, std::uint64_t bytes) { remove(address, end_of(address, bytes)); }

void Mappings::remove(std::uint64_t begin, std::uint64_t end) {
  auto entry = ranges_.upper_bound(begin);
  if (entry != ranges_.begin()) {
    --entry;
  }
  while (entry != ranges_.end() && entry->first < end) {
    const auto from = entry->first;
    const auto range = entry->second;
    if (range.end <= begin) {
      ++entry;
      continue;
    }
    entry = ranges_.erase(entry);
    if (from < begin) {
      ranges_[from] = {begin, range.stack, range.is_chosen};
    }
    if (range.end > end) {
      ranges_[end] = range;
    }
    if (range.is_chosen) {
      sums_[range.stack].unmapped_bytes += std::min(range.end, end) - std::max(from, begin);
    }
  }
}

std::vector<OwnRange> Mappings::ranges() const {
  std::vector<OwnRange> ranges;
  ranges.reserve(ranges_.size());
  for (const auto& [begin, range] : ranges_) {
    ranges.push_back({begin, range.end, range.stack});
  }
  return ranges;
}

std::vector<MappingSite> Mappings::finish(const SiteMap& sites) const {
  std::map<std::uint32_t, MappingSite> rows;
  const auto row_of = [&](std::uint32_t stack) -> MappingSite& {
    auto& row = rows[sites.site_of(stack)];
    row.site = sites.site_of(stack);
    return row;
  };
  for (const auto& [stack, sums] : sums_) {
    auto& row = row_of(stack);
    row.calls += sums.calls;
    row.bytes += sums.bytes;
    row.unmapped_bytes += sums.unmapped_bytes;
  }
  for (const auto& [begin, range] : ranges_) {
    if (range.is_chosen) {
      row_of(range.stack).at_end_bytes += range.end - begin;
    }
  }
  std::vector<MappingSite> found;
  found.reserve(rows.size());
  for (const auto& entry : rows) {
    found.push_back(entry.second);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return found;
}

}  // namespace heapwright::analyze
