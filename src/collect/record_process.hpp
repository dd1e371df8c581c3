// SPDX-License-Identifier: MIT
#pragma once

#include "collect/options.hpp"

namespace heapwright::collect {

// Records the running process options.process, and reports. Returns this program's exit code; throws
// UsageError if the recording cannot begin.
int record_process(const Options& options);

}  // namespace heapwright::collect
