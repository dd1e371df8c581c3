// SPDX-License-Identifier: MIT
// The owners of memory as in /proc/PID/smaps: by the names of mappings.
#pragma once

#include <cstdint>
#include <string>

namespace heapwright::analyze {

// All mappings of one name, at one scan of the resident pages.
struct MappedMemory {
  std::uint64_t time_ns = 0;  // the scan's begin
  std::string name;           // a path, "[heap]", ...; empty: anonymous, or the mapping is unknown
  std::uint64_t mappings = 0;
  std::uint64_t mapped_bytes = 0;
  std::uint64_t anonymous_bytes = 0;  // resident
  std::uint64_t file_bytes = 0;       // resident; includes shared memory
  std::uint64_t swapped_bytes = 0;
};

}  // namespace heapwright::analyze
