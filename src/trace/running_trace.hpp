// SPDX-License-Identifier: MIT
// A trace that its collector still writes, as one that ends now.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heapwright::trace {

// A copy of the file's first whole_bytes, and end_chunk after them, is a trace of what was written so far.
struct RunningTrace {
  std::uint64_t whole_bytes = 0;
  std::vector<std::uint8_t> end_chunk;  // empty: the trace has an end mark of its own
};

// Throws TraceError unless the file begins like a trace.
RunningTrace end_running(const std::string& path);

}  // namespace heapwright::trace
