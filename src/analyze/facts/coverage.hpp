// SPDX-License-Identifier: MIT
// Which part of the run was recorded, and whether the recording is complete.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heapwright::analyze {

// A time span in which calls were recorded: [from_ns, to_ns).
struct Span {
  std::uint64_t from_ns = 0;
  std::uint64_t to_ns = 0;
};

// Which part of the run was recorded. Calls outside of it were not seen.
struct Coverage {
  std::vector<Span> spans;   // within [from_ns, to_ns) of the options
  bool has_start = true;     // recording was on when the process began
  bool has_end = true;       // and when it ended
  std::uint64_t pauses = 0;  // between the first and the last span of the run
  bool is_whole_run = true;  // recorded from beginning to end
};

// Whether every call of the covered times is in the trace, and if not, why.
struct Completeness {
  // Within the coverage: end mark present, nothing dropped, no damage, no gaps.
  bool is_complete = false;
  std::uint64_t dropped = 0;
  std::uint64_t sequence_gaps = 0;   // events missing, by gaps in their numbers
  std::vector<std::string> reasons;  // empty when complete
};

}  // namespace heapwright::analyze
