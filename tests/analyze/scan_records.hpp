// SPDX-License-Identifier: MIT
// Scans of resident pages for traces held in memory.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "memory_trace.hpp"

namespace heapwright::analyze {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t heap = 0x10000000;

inline std::uint64_t at(std::uint64_t pages, std::uint64_t bytes = 0) { return heap + pages * page + bytes; }

inline trace::Mapping mapping(std::uint64_t begin, std::uint64_t pages, const char* name) {
  return {begin, begin + pages * page, 0, 3, name};
}

inline trace::PageRun anonymous(std::uint64_t begin, std::uint64_t pages) {
  return {begin, begin + pages * page, trace::PageKind::anonymous, false};
}

// Adds a scan with one window for each of `windows`; a window's runs lie in it.
inline void add_scan(MemoryTrace& trace, const std::vector<trace::ScanWindow>& windows,
                     const std::vector<trace::PageRun>& runs, std::vector<trace::Mapping> mappings) {
  MemoryTrace::Scan record;
  record.scan.windows = windows;
  record.scan.runs = runs;
  for (auto& window : record.scan.windows) {
    const auto first = std::find_if(runs.begin(), runs.end(),
                                    [&](const trace::PageRun& run) { return run.begin >= window.begin; });
    const auto last =
        std::find_if(first, runs.end(), [&](const trace::PageRun& run) { return run.begin >= window.end; });
    window.first_run = static_cast<std::uint32_t>(first - runs.begin());
    window.run_count = static_cast<std::uint32_t>(last - first);
  }
  for (const auto& run : runs) {
    record.scan.before.anonymous_bytes += run.end - run.begin;
  }
  record.scan.after = record.scan.before;
  record.chunk.begin_ns = windows.front().begin_ns;
  record.chunk.end_ns = windows.back().end_ns;
  record.chunk.resident_bytes = record.scan.resident_bytes();
  record.mappings = std::move(mappings);
  trace.scan_records.push_back(std::move(record));
}

}  // namespace heapwright::analyze
