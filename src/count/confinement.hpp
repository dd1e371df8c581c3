// SPDX-License-Identifier: MIT
// Whether the program has taken system calls from itself: then the counter makes none, for which a filter may
// kill the process. So no call is timed, as CPU time is read by system calls.
#pragma once

#include <atomic>

namespace heapwright::count {

// Not wiped: a fork child has its parent's filter.
[[gnu::visibility("hidden")]] extern constinit std::atomic<bool> has_confined_itself;

inline bool is_confined() noexcept { return has_confined_itself.load(std::memory_order_relaxed); }

}  // namespace heapwright::count
