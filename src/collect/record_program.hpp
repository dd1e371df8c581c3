// SPDX-License-Identifier: MIT
// The whole command: check, start, collect, report.
#pragma once

#include "collect/options.hpp"

namespace heapwright::collect {

// Returns the program's exit code, or 2 when it was not started. Throws UsageError and SessionError before
// the program has started.
int record_program(const Options& options);

}  // namespace heapwright::collect
