// SPDX-License-Identifier: MIT
// Facts of the recording as a whole.
#pragma once

#include <cstdint>

namespace heapwright::analyze {

// Sums over everything that passed the filter.
struct Totals {
  std::uint64_t events = 0;
  std::uint64_t allocations = 0;  // successful, including reallocs that returned a block
  std::uint64_t releases = 0;     // of known and unknown blocks, including old sides
                                  // of reallocs; excluding free(NULL)
  std::uint64_t reallocs = 0;     // calls of realloc and reallocarray
  std::uint64_t failed = 0;       // allocations that returned NULL
  std::uint64_t null_frees = 0;
  std::uint64_t requested_bytes = 0;  // sum over allocations
  std::uint64_t usable_bytes = 0;
  std::uint64_t unknown_releases = 0;       // the block's allocation is not in the trace, but should be
  std::uint64_t releases_from_before = 0;   // the block may be from before the recording, or from a pause
  std::uint64_t releases_in_pauses = 0;     // of blocks whose address was reused after a pause
  std::uint64_t inherited_releases = 0;     // the same in a fork child: a block from before the fork
  std::uint64_t reused_live_addresses = 0;  // an address was reused while live: a free was missed
  std::uint64_t mapped_bytes = 0;           // by the program's own mmap calls
  std::uint64_t unmapped_bytes = 0;
  std::uint64_t zero_size = 0;
  std::uint64_t allocator_ns = 0;     // sum of all durations, all threads, excluding time off the processor
  std::uint64_t span_ns = 0;          // first begin to the end of the process, if known
  std::uint64_t size_mismatches = 0;  // sized free with a size other than the allocated one
  // Allocations that are not in any site's percentiles: more sites and sizes than fit.
  std::uint64_t sizes_left_out = 0;
  std::uint64_t latencies_left_out = 0;
};

// The moment when live requested bytes were highest (exact), and what was live.
struct Peak {
  std::uint64_t time_ns = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t live_usable_bytes = 0;
  std::uint64_t live_blocks = 0;
};

// The recording's own cost.
struct RecorderCost {
  std::uint64_t calls_ns = 0;   // events x calibrated cost per call
  std::uint64_t waited_ns = 0;  // threads waited for the buffer
  std::uint64_t peak_bytes = 0;
  std::uint64_t file_bytes = 0;
};

}  // namespace heapwright::analyze
