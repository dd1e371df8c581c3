// SPDX-License-Identifier: MIT
// Whose the memory was, as /proc/PID/smaps tells it: by the names of mappings.
#pragma once

#include <cstdint>
#include <string>

namespace heapwright::analyze {

// All mappings of one name, at one scan of the resident pages.
struct MappedMemory {
  std::uint64_t time_ns = 0;  // the scan's begin
  std::string name;           // a path, "[heap]", ...; empty: anonymous, or pages whose mapping is not known
  std::uint64_t mappings = 0;
  std::uint64_t mapped_bytes = 0;
  std::uint64_t anonymous_bytes = 0;  // resident
  std::uint64_t file_bytes = 0;       // resident; of shared memory as well
  std::uint64_t swapped_bytes = 0;
};

}  // namespace heapwright::analyze
