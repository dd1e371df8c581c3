// SPDX-License-Identifier: MIT
// Reads a recording in order of time and writes the plan of its replay. Memory: the live blocks, a buffer for
// each thread, and what the merge holds decoded.
#pragma once

#include <string>

#include "order/source.hpp"
#include "replay/plan.hpp"

namespace heapwright::replay {

// calls: of a longer recording a window with about this number (window.hpp); 0: all. has_times: the plan says
// when its operations are due. The header as written. Throws trace::TraceError with one line that says what
// to do.
Header make_plan(const order::Source& source, const std::string& path, const ChangeRequest& change = {},
                 std::uint64_t calls = 0, bool has_times = false);

}  // namespace heapwright::replay
