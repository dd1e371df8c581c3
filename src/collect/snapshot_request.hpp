// SPDX-License-Identifier: MIT
// Asks the collector of a process that is being recorded for a snapshot of it.
#pragma once

#include <cstdint>

namespace heapwright::collect {

// Returns the exit code when the snapshot is in the trace, after printing one object of JSON: process_id,
// trace (its path), blocks, bytes, stopped_ns. Throws UsageError with one line that says what to do if the
// process is not being recorded, or the snapshot failed.
int report_snapshot(std::int32_t process);

}  // namespace heapwright::collect
