// SPDX-License-Identifier: MIT
// Reads an unfinished trace as one that ends now.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/records.hpp"

namespace heapwright::trace {

// The end mark of a recording that goes on, by what of it was read: its events, the last one's time, its
// samples.
End end_of_running(std::uint64_t events, std::uint64_t last_ns, std::span<const MemorySample> samples);

// A copy of the file's first whole_bytes, followed by end_chunk, is a trace of what was written so far.
struct RunningTrace {
  std::uint64_t whole_bytes = 0;
  std::vector<std::uint8_t> end_chunk;  // empty: the trace has its own end mark
};

// Throws TraceError unless the file begins like a trace.
RunningTrace end_running(const std::string& path);

}  // namespace heapwright::trace
