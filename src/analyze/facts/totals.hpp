// SPDX-License-Identifier: MIT
// Facts of the recording as a whole.
#pragma once

#include <cstdint>

namespace heapwright::analyze {

// Sums over everything that passed the filter.
struct Totals {
  std::uint64_t events = 0;
  std::uint64_t allocations = 0;  // successful, reallocs that returned a block included
  std::uint64_t releases = 0;     // of known and unknown blocks, old sides of reallocs
                                  // included; free(NULL) excluded
  std::uint64_t reallocs = 0;     // calls of realloc and reallocarray
  std::uint64_t failed = 0;       // allocations that returned NULL
  std::uint64_t null_frees = 0;
  std::uint64_t requested_bytes = 0;  // sum over allocations
  std::uint64_t usable_bytes = 0;
  std::uint64_t unknown_releases = 0;       // block's allocation is not in the trace, though it should be
  std::uint64_t releases_from_before = 0;   // the block may be from before the recording, or from a pause
  std::uint64_t releases_in_pauses = 0;     // of blocks whose address came back after a pause
  std::uint64_t inherited_releases = 0;     // the same in a fork child: a block from before the fork
  std::uint64_t reused_live_addresses = 0;  // an address came back while live: a free was missed
  std::uint64_t mapped_bytes = 0;           // program-made mmap
  std::uint64_t unmapped_bytes = 0;
  std::uint64_t zero_size = 0;
  std::uint64_t allocator_ns = 0;     // sum of all durations, all threads, less the time off the processor
  std::uint64_t span_ns = 0;          // first begin to the end of the process, where it is known
  std::uint64_t size_mismatches = 0;  // sized free with another size than allocated
  // Allocations that are in no site's percentiles: more sites and sizes than there is room for.
  std::uint64_t sizes_left_out = 0;
  std::uint64_t latencies_left_out = 0;
};

// The moment when live requested bytes were highest (exact), and what lived.
struct Peak {
  std::uint64_t time_ns = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t live_usable_bytes = 0;
  std::uint64_t live_blocks = 0;
};

// What recording itself took.
struct RecorderCost {
  std::uint64_t calls_ns = 0;   // events x calibrated cost per call
  std::uint64_t waited_ns = 0;  // threads waited for the buffer
  std::uint64_t peak_bytes = 0;
  std::uint64_t file_bytes = 0;
};

}  // namespace heapwright::analyze
