// SPDX-License-Identifier: MIT
// The options of an analysis.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace heapwright::analyze {

// Filters. An allocation counts if it passes every filter; a release counts if its block does, whoever
// releases it. Calls without a block (failed, mmap, ...) count by their own thread, size and stack.
//
// The time range is [from_ns, to_ns) of the calls' begin. Blocks that became live before it stay live in it:
// peak, live and lifetimes include them, but their allocation is not counted. "At the end" means at to_ns.
struct Options {
  std::uint64_t from_ns = 0;
  std::uint64_t to_ns = UINT64_MAX;
  std::uint64_t min_size_bytes = 0;
  std::uint64_t max_size_bytes = UINT64_MAX;
  std::vector<std::uint8_t> thread_chosen;  // by Thread::index; empty = all
  // Site of each stack id: a group of stacks that the report shows as one line. Size =
  // reader.stacks().size(); empty = every stack is its own site.
  std::vector<std::uint32_t> site_of_stack;
  std::vector<std::uint8_t> stack_chosen;  // by stack id; empty = all
  std::uint32_t timeline_points = 512;
  std::uint32_t slowest_calls = 32;
  // Include the scans of resident pages before and after this time in the facts; UINT64_MAX: none.
  std::uint64_t at_ns = UINT64_MAX;
  // Include activity by bin and page usage: see facts/activity.hpp and facts/page_cells.hpp. Takes up to
  // three times as long, mostly for joining more scans.
  bool wants_activity = false;
  // Called occasionally with the numbers of processed and of all events; may be empty.
  std::function<void(std::uint64_t, std::uint64_t)> on_progress;
};

}  // namespace heapwright::analyze
