// SPDX-License-Identifier: MIT
#pragma once

#include "collect/options.hpp"

namespace heapwright::collect {

// Records options.process, which runs already, and tells about it. Returns this program's exit code; throws
// UsageError when the recording cannot begin.
int record_process(const Options& options);

}  // namespace heapwright::collect
