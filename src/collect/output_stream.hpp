// SPDX-License-Identifier: MIT
// Where a trace goes that is no ordinary file: standard output, a device, a
// pipe, or a link to one of them. It is written to, and never replaced.
#pragma once

#include <string>

namespace heapwright::collect {

inline constexpr char standard_output[] = "-";

// Standard output or something that is there and no ordinary file or folder.
bool is_stream(const std::string& path);

// Standard output for the trace alone: the program to be started finds
// standard error in its place. To be called before it is forked. Returns a
// descriptor that programs do not inherit. Throws UsageError.
int take_standard_output();

// Waits for the reader of a pipe. Throws UsageError.
int open_stream(const std::string& path);

// A pipe holds one trace; a device such as /dev/null takes as many as come.
bool takes_one_trace(int descriptor);

}  // namespace heapwright::collect
