// SPDX-License-Identifier: MIT
// Sums of the operations' least times, by call stack and by function and size. Does not run in a process with
// a heap under test.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "replay/call_times.hpp"
#include "replay/operation_times.hpp"
#include "replay/site_times.hpp"

namespace heapwright::replay {

class TimeSums {
 public:
  // Reads the plan once. If site_of_stack is not empty, reads it again for times by site, for sites with at
  // least a thousandth of the time. Memory: one entry per call stack, and about 32 bytes for each step of
  // these sites' histograms.
  TimeSums(const PlanFile& plan, OperationTimes& times, std::vector<std::uint32_t> site_of_stack = {});

  struct OfStack {
    std::uint64_t calls = 0;
    std::uint64_t ticks = 0;  // of calls and of writing to fresh pages
  };
  // By the call stack that allocated the block, including the frees of its blocks.
  const std::vector<OfStack>& stacks() const noexcept { return stacks_; }

  struct Group {
    std::uint8_t kind = 0;            // the function, as trace::EventKind
    std::uint64_t largest_bytes = 0;  // a power of two; sizes up to half of it are in the next lower group
    auto operator<=>(const Group&) const = default;
  };
  const std::map<Group, CallTimes>& groups() const noexcept { return groups_; }

  // The maximum over all runs of frees that a program thread makes without allocating in between. A deferred
  // free counts as nothing: handing over is one store for all of them.
  std::uint64_t longest_row_ticks() const noexcept { return longest_row_ticks_; }

  // One line of JSON: stacks (those with calls), stack_calls, stack_ticks, longest_row_ticks, groups with
  // function, largest_bytes, calls, ticks and the ticks of percentiles, functions with these over all
  // sizes, and site_groups with function, largest_bytes and percentiles of a site, of enough calls.
  std::string json() const;

 private:
  // counts: it is one of the recorded calls, not one added by a change.
  void add(const Operation& operation, std::uint32_t stack, const OperationTime& time, bool counts);

  static Group group_of(const Operation& operation) noexcept;
  bool leave_out_small(std::vector<std::uint32_t>& site_of_stack) const;

  std::vector<OfStack> stacks_;
  std::map<Group, CallTimes> groups_;
  std::optional<SiteTimes> sites_;
  std::uint64_t longest_row_ticks_ = 0;
};

}  // namespace heapwright::replay
