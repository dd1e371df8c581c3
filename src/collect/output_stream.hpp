// SPDX-License-Identifier: MIT
// Output to something other than a regular file: standard output, a device, a pipe, or a link to one of them.
// It is written to, never replaced.
#pragma once

#include <string>

namespace heapwright::collect {

inline constexpr char standard_output[] = "-";

// Standard output, or an existing path that is neither a regular file nor a folder.
bool is_stream(const std::string& path);

// Reserves standard output for the trace: the program's standard output becomes standard error. Must be
// called before the program is forked. Returns a descriptor that programs do not inherit. Throws UsageError.
int take_standard_output();

// Blocks until a pipe has a reader. Throws UsageError.
int open_stream(const std::string& path);

// A pipe holds one trace; a device such as /dev/null takes any number.
bool takes_one_trace(int descriptor);

}  // namespace heapwright::collect
