// SPDX-License-Identifier: MIT
// Snapshots of who holds which block, taken by the collector while a process waits to exit.
#pragma once

#include <cstdint>

namespace heapwright::session {

// A ControlFlag: the collector takes a snapshot before a process exits.
inline constexpr std::uint32_t snapshot_at_end = 1U << 6;
// A process then waits at most this long.
inline constexpr std::uint64_t longest_snapshot_wait_ns = 60'000'000'000;

}  // namespace heapwright::session
