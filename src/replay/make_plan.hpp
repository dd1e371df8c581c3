// SPDX-License-Identifier: MIT
// Reads a recording in order of time and writes the plan of its replay. Memory: the live blocks, a buffer for
// each thread, and the merge's decoded data.
#pragma once

#include <string>

#include "order/source.hpp"
#include "replay/plan.hpp"

namespace heapwright::replay {

// calls: use only a window of about this many calls of a longer recording (window.hpp); 0: all. has_times:
// store when operations are due. Returns the header as written. Throws trace::TraceError with one line that
// says what to do.
Header make_plan(const order::Source& source, const std::string& path, const ChangeRequest& change = {},
                 std::uint64_t calls = 0, bool has_times = false);

}  // namespace heapwright::replay
