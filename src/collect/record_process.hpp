// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "collect/options.hpp"
#include "collect/program_check.hpp"

namespace heapwright::collect {

// The exit code when nothing is recorded.
inline constexpr int not_recorded_code = 2;

// Records the running process options.process, and reports. Returns this program's exit code; throws
// UsageError if the recording cannot begin.
int record_process(const Options& options);

// Starts the program, attaches to it before its first instruction, and returns its exit code. Nothing: it
// could not be attached to, which heapwright-attach explained; it was ended there.
std::optional<int> record_patched(const Options& options, const ProgramCheck& check);

}  // namespace heapwright::collect
