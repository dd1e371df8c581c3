// SPDX-License-Identifier: MIT
#include "replay/own_mappings.hpp"

#include <algorithm>
#include <iterator>

#include "replay/page_runs.hpp"
#include "trace/damage.hpp"

namespace heapwright::replay {
namespace {

constexpr auto page = trace::residency_unit_bytes;

std::uint64_t resident_in_ranges(const trace::ResidencyScan& scan,
                                 const std::map<std::uint64_t, std::uint64_t>& ranges) noexcept {
  std::uint64_t bytes = 0;
  std::size_t run = 0;
  for (const auto& [begin, end] : ranges) bytes += resident_in(scan.runs, run, begin, end);
  return bytes;
}

}  // namespace

OwnMappings::OwnMappings(const order::Source& source) {
  if (source.scans().empty()) return;
  std::map<std::uint64_t, std::uint64_t> modules;
  for (const auto& module : source.modules()) {
    if (module.end <= module.start || module.end > trace::max_address) continue;
    auto& end = modules[module.start / page * page];
    end = std::max(end, (module.end + page - 1) / page * page);
  }
  std::uint64_t covered = 0;  // the range may have belonged to another library before
  for (const auto& [begin, end] : modules) {
    if (end > covered) libraries_[std::max(begin, covered)] = end;
    covered = std::max(covered, end);
  }
  try {
    first_in_libraries_ = resident_in_libraries(source.decode(source.scans().front()));
  } catch (const trace::TraceError&) {
    libraries_.clear();  // there is nothing to compare with
  }
}

void OwnMappings::map(std::uint64_t address, std::uint64_t bytes) {
  unmap(address, bytes);
  if (bytes > 0 && address < trace::max_address && bytes < trace::max_address) {
    ranges_[address] = (address + bytes + page - 1) / page * page;
  }
}

bool OwnMappings::unmap(std::uint64_t address, std::uint64_t bytes) {
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
  const auto in_libraries = resident_in_libraries(scan);
  const auto more = in_libraries - std::min(in_libraries, first_in_libraries_);
  readings_.push_back({time_ns, resident_in_ranges(scan, ranges_) + more});
}

std::uint64_t OwnMappings::resident_in_libraries(const trace::ResidencyScan& scan) const noexcept {
  return resident_in_ranges(scan, libraries_);
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
