// SPDX-License-Identifier: MIT
// The recording over time.
#pragma once

#include <cstdint>

namespace heapwright::analyze {

// State at the end of one of the equal steps of the recording.
struct TimelinePoint {
  std::uint64_t time_ns = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t live_usable_bytes = 0;
  std::uint64_t live_blocks = 0;
  std::uint64_t highest_live_bytes = 0;       // within the step
  std::uint64_t usable_at_highest_bytes = 0;  // live usable bytes at that moment
  // The latest sample up to time_ns; 0 = none. Shared memory is the program's own, without the recorder's
  // pages.
  std::uint64_t resident_bytes = 0;  // anonymous
  std::uint64_t resident_file_bytes = 0;
  std::uint64_t resident_shared_bytes = 0;
  std::uint64_t recorder_bytes = 0;  // those pages
  std::uint64_t swapped_bytes = 0;
  std::uint64_t page_table_bytes = 0;
  std::uint64_t cgroup_charge_bytes = 0;  // of the whole cgroup; 0 = unknown
  std::uint64_t allocations = 0;          // within the step
  std::uint64_t releases = 0;
  std::uint64_t allocator_ns = 0;
};

}  // namespace heapwright::analyze
