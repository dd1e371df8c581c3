// SPDX-License-Identifier: MIT
// The process asks the collector to look which of its pages are in memory.
#pragma once

#include "session/layout.hpp"

namespace heapwright::record {

// Where scans are wanted at all. Returns at once; the scan begins when the
// collector has time for it.
void ask_for_scan(session::ScanCause cause) noexcept;

// The last thing before the process ends: what it holds then is seen. Waits
// for the scan, longest_exit_wait_ns at most.
void wait_for_exit_scan() noexcept;

}  // namespace heapwright::record
