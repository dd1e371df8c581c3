// SPDX-License-Identifier: MIT
// The program's memory in its own mappings, made without heap calls: a garbage collector's heap, an
// interpreter's arenas. Its mmap calls give the ranges; the recorded scans of resident pages show what was
// resident there, interpolated linearly between two scans. The program's file and libraries have written
// pages as well. Those seen by the first scan are outside of the heap for good; more of them come with
// libraries that are loaded later and with static data.
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
  // Takes the recording's libraries.
  explicit OwnMappings(const order::Source& source);

  // Private anonymous memory.
  void map(std::uint64_t address, std::uint64_t bytes);
  // Whether any part of it was known.
  bool unmap(std::uint64_t address, std::uint64_t bytes);
  // Scans come in order of time, each after all earlier calls were reported.
  void see(const trace::ResidencyScan& scan, std::uint64_t time_ns);

  // 0 before the first mapping; constant after the last scan. Times may be queried in any order.
  std::uint64_t resident_at(std::uint64_t time_ns) const noexcept;

 private:
  struct Reading {
    std::uint64_t time_ns = 0;
    std::uint64_t bytes = 0;
  };

  std::uint64_t resident_in_libraries(const trace::ResidencyScan& scan) const noexcept;

  std::map<std::uint64_t, std::uint64_t> ranges_;     // begin to end; they do not overlap
  std::map<std::uint64_t, std::uint64_t> libraries_;  // the same, present since the start of the recording
  std::uint64_t first_in_libraries_ = 0;              // resident at the first scan
  std::vector<Reading> readings_ = {{0, 0}};
};

}  // namespace heapwright::replay
