// SPDX-License-Identifier: MIT
#include "analyze/mappings.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

#include "analyze/facts/mappings.hpp"
#include "analyze/row.hpp"

namespace heapwright::analyze {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t protection_mask = 0xff;
constexpr unsigned flags_shift = 8;

std::uint64_t end_of(std::uint64_t address, std::uint64_t bytes) noexcept {
  constexpr auto last = ~(page_bytes - 1);
  if (bytes > last || address > last - bytes) {
    return last;
  }
  return (address + bytes + page_bytes - 1) & ~(page_bytes - 1);
}

}  // namespace

void Mappings::change(trace::EventKind kind, const MappingRow& row, std::uint32_t stack, bool is_chosen) {
  if (kind == trace::EventKind::sbrk_) {
    // The increment in two's complement. A page shared by two calls belongs to the first.
    const auto before = end_of(row.address - row.size, 0);
    const auto after = end_of(row.address, 0);
    after < before ? remove(after, before) : map(before, after, {after, stack, is_chosen, false}, false);
    return;
  }
  const auto begin = row.address;
  const auto end = end_of(begin, row.size);
  if (kind == trace::EventKind::mremap_) {
    const auto old = ranges_.find(row.old_address);
    const bool is_reserved = old != ranges_.end() && old->second.is_reserved;
    remove(row.old_address, end_of(row.old_address, row.detail));
    map(begin, end, {end, stack, is_chosen, is_reserved}, false);
  } else if (kind == trace::EventKind::mmap_) {
    const bool is_known = row.detail != 0;
    const auto protection = row.detail & protection_mask;
    const auto flags = row.detail >> flags_shift;
    map(begin, end, {end, stack, is_chosen, is_known && protection == PROT_NONE},
        is_known && (flags & MAP_ANONYMOUS) == 0);
  } else if (kind == trace::EventKind::munmap_) {
    remove(begin, end);
  } else if (kind == trace::EventKind::mprotect_) {
    protect(begin, end, row.detail == PROT_NONE);
  } else if (row.detail == MADV_DONTNEED || row.detail == MADV_FREE || row.detail == MADV_REMOVE) {
    give_back(begin, end);
  }
}

void Mappings::map(std::uint64_t begin, std::uint64_t end, Range range, bool is_of_file) {
  if (end <= begin) {
    return;
  }
  remove(begin, end);
  ranges_[begin] = range;
  if (range.is_chosen) {
    auto& sums = sums_[range.stack];
    ++sums.calls;
    sums.bytes += end - begin;
    sums.of_files_bytes += is_of_file ? end - begin : 0;
  }
}

void Mappings::cut(std::uint64_t at) {
  const auto next = ranges_.lower_bound(at);
  if (next == ranges_.begin()) {
    return;
  }
  auto& before = std::prev(next)->second;
  if (before.end > at) {
    ranges_.emplace_hint(next, at, before);
    before.end = at;
  }
}

void Mappings::remove(std::uint64_t begin, std::uint64_t end) {
  cut(begin);
  cut(end);
  auto entry = ranges_.lower_bound(begin);
  while (entry != ranges_.end() && entry->first < end) {
    if (entry->second.is_chosen) {
      sums_[entry->second.stack].unmapped_bytes += entry->second.end - entry->first;
    }
    entry = ranges_.erase(entry);
  }
}

void Mappings::protect(std::uint64_t begin, std::uint64_t end, bool is_reserved) {
  cut(begin);
  cut(end);
  for (auto entry = ranges_.lower_bound(begin); entry != ranges_.end() && entry->first < end; ++entry) {
    entry->second.is_reserved = is_reserved;
  }
}

void Mappings::give_back(std::uint64_t begin, std::uint64_t end) {
  auto entry = ranges_.upper_bound(begin);
  if (entry != ranges_.begin()) {
    --entry;
  }
  for (; entry != ranges_.end() && entry->first < end; ++entry) {
    const auto& [from, range] = *entry;
    if (range.is_chosen && range.end > begin) {
      sums_[range.stack].given_back_bytes += std::min(range.end, end) - std::max(from, begin);
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
    row.of_files_bytes += sums.of_files_bytes;
    row.unmapped_bytes += sums.unmapped_bytes;
    row.given_back_bytes += sums.given_back_bytes;
  }
  for (const auto& [begin, range] : ranges_) {
    if (range.is_chosen) {
      auto& row = row_of(range.stack);
      row.at_end_bytes += range.end - begin;
      row.reserved_at_end_bytes += range.is_reserved ? range.end - begin : 0;
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
