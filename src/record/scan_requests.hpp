// SPDX-License-Identifier: MIT
// Requests from the process to the collector: to scan which of its pages are resident, and for snapshots.
#pragma once

#include "session/layout.hpp"

namespace heapwright::record {

// Requests a scan if scans are enabled. Returns at once; the scan begins when the collector has time for it.
void ask_for_scan(session::ScanCause cause) noexcept;

// Called last before the process ends, so that its final memory is seen. Waits for the scan, at most
// longest_exit_wait_ns.
void wait_for_exit_scan() noexcept;

// Returns when the collector has looked at who holds which block, or cannot.
void wait_for_snapshot() noexcept;

}  // namespace heapwright::record
