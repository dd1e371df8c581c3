// SPDX-License-Identifier: MIT
// What the operations' least times add up to, by call stack and by function and size. Runs beside no heap
// under test.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "replay/call_times.hpp"
#include "replay/operation_times.hpp"

namespace heapwright::replay {

class TimeSums {
 public:
  // Reads the plan once. Memory: one entry for each call stack.
  TimeSums(const PlanFile& plan, OperationTimes& times);

  struct OfStack {
    std::uint64_t calls = 0;
    std::uint64_t ticks = 0;  // of calls and of writing to fresh pages
  };
  // By the call stack that made the block, with the releases of its blocks.
  const std::vector<OfStack>& stacks() const noexcept { return stacks_; }

  struct Group {
    std::uint8_t kind = 0;            // the function, as trace::EventKind
    std::uint64_t largest_bytes = 0;  // a power of two; half of it is in the next lower group
    auto operator<=>(const Group&) const = default;
  };
  const std::map<Group, CallTimes>& groups() const noexcept { return groups_; }

  // Of all releases that one of the program's threads makes without making a block between them, at most. One
  // that is put off takes nothing: handing over is one store for all of them.
  std::uint64_t longest_row_ticks() const noexcept { return longest_row_ticks_; }

  // One line of JSON: stacks (those with calls), stack_calls, stack_ticks, longest_row_ticks, groups with
  // function, largest_bytes, calls, ticks and the ticks of percentiles, and functions with these over all
  // sizes.
  std::string json() const;

 private:
  // counts: it is one of the recorded calls, and not what a change adds.
  void add(const Operation& operation, std::uint32_t stack, const OperationTime& time, bool counts);

  std::vector<OfStack> stacks_;
  std::map<Group, CallTimes> groups_;
  std::uint64_t longest_row_ticks_ = 0;
};

}  // namespace heapwright::replay
