// SPDX-License-Identifier: MIT
// The sorted table by which a function's unwind information is found (PT_GNU_EH_FRAME). Linkers leave it out
// of static programs with a fixed address (gcc -static), which register the information itself (.eh_frame)
// instead.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heapwright::attach {

// frames: a whole .eh_frame, which lies at frames_at in the process; table_at: where the table will lie, less
// than 2 GiB away. Layout: Linux Standard Base Core, 10.6.2. Empty: there are no frames, or some cannot be
// read. Complexity: n log n for n functions.
std::vector<std::uint8_t> make_frame_table(std::span<const std::uint8_t> frames, std::uint64_t frames_at,
                                           std::uint64_t table_at);

}  // namespace heapwright::attach
