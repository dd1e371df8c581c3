// SPDX-License-Identifier: MIT
#include "replay/own_mappings.hpp"

#include <algorithm>
#include <iterator>

#include "replay/page_runs.hpp"

namespace heapwright::replay {

void OwnMappings::map(std::uint64_t address, std::uint64_t bytes) {
  unmap(address, bytes);
  constexpr auto page = trace::residency_unit_bytes;
  if (bytes > 0 && address < trace::max_address && bytes < trace::max_address) {
    ranges_[address] = (address + bytes + page - 1) / page * page;
  }
}

bool OwnMappings::unmap(std::uint64_t address, std::uint64_t bytes) {
  constexpr auto page = trace::residency_unit_bytes;
  if (address >= trace::max_address || bytes >= trace::max_address) return false;
  const auto end = (address + bytes + page - 1) / page * page;
  bool was_known = false;
  auto at = ranges_.upper_bound(address);
  if (at != ranges_.begin()) --at;
  while (at != ranges_.end() && at->first < end) {
    const auto [old_begin, old_end] = *at;
    if (old_end <= address) {
      ++at;
      continue;
    }
    was_known = true;
    at = ranges_.erase(at);
    if (old_begin < address) ranges_[old_begin] = address;
    if (old_end > end) ranges_[end] = old_end;
  }
  return was_known;
}

void OwnMappings::see(const trace::ResidencyScan& scan, std::uint64_t time_ns) {
  std::uint64_t bytes = 0;
  std::size_t run = 0;
  for (const auto& [begin, end] : ranges_) bytes += resident_in(scan.runs, run, begin, end);
  readings_.push_back({time_ns, bytes});
}

std::uint64_t OwnMappings::resident_at(std::uint64_t time_ns) const noexcept {
  const auto next =
      std::lower_bound(readings_.begin(), readings_.end(), time_ns,
                       [](const Reading& reading, std::uint64_t at) { return reading.time_ns < at; });
  if (next == readings_.end()) return readings_.back().bytes;
  if (next == readings_.begin() || next->time_ns == time_ns) return next->bytes;
  const Reading& before = *std::prev(next);
  const auto part =
      static_cast<double>(time_ns - before.time_ns) / static_cast<double>(next->time_ns - before.time_ns);
  const auto from = static_cast<double>(before.bytes);
  return static_cast<std::uint64_t>(from + (static_cast<double>(next->bytes) - from) * part);
}

}  // namespace heapwright::replay
