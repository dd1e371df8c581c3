// SPDX-License-Identifier: MIT
#pragma once

#include "collect/options.hpp"
#include "collect/program_check.hpp"

namespace heapwright::collect {

// Records the running process options.process, and reports. Returns this program's exit code; throws
// UsageError if the recording cannot begin.
int record_process(const Options& options);

// Starts the program, attaches to it before its first instruction, and returns its exit code.
int record_patched(const Options& options, const ProgramCheck& check);

}  // namespace heapwright::collect
