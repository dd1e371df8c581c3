// SPDX-License-Identifier: MIT
// How much memory the program had in mappings of its own, which no heap call made: a compiler's garbage
// collector, an interpreter's arenas. Which ranges these are, its calls of mmap say; what was resident there,
// the recorded scans of resident pages; between two scans it counts as having grown in a straight line.
// The program's file and libraries have pages that were written to as well. Those that were there at the
// first scan lie beside the heap for good; more of them come with libraries that are loaded later and with
// static data.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "order/source.hpp"
#include "trace/residency.hpp"

namespace heapwright::replay {

class OwnMappings {
 public:
  OwnMappings() = default;
  // The libraries are those of the recording.
  explicit OwnMappings(const order::Source& source);

  // Private memory of no file.
  void map(std::uint64_t address, std::uint64_t bytes);
  // Whether any of it was known.
  bool unmap(std::uint64_t address, std::uint64_t bytes);
  // Scans come by time, each when the calls before it were told.
  void see(const trace::ResidencyScan& scan, std::uint64_t time_ns);

  // 0 before the first mapping; after the last scan as there. Times that are asked for may be in any order.
  std::uint64_t resident_at(std::uint64_t time_ns) const noexcept;

 private:
  struct Reading {
    std::uint64_t time_ns = 0;
    std::uint64_t bytes = 0;
  };

  std::uint64_t resident_in_libraries(const trace::ResidencyScan& scan) const noexcept;

  std::map<std::uint64_t, std::uint64_t> ranges_;     // begins and ends; they do not overlap
  std::map<std::uint64_t, std::uint64_t> libraries_;  // the same, from the begin of the recording on
  std::uint64_t first_in_libraries_ = 0;              // resident at the first scan
  std::vector<Reading> readings_ = {{0, 0}};
};

}  // namespace heapwright::replay
