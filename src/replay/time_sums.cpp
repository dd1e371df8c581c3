// SPDX-License-Identifier: MIT
#include "replay/time_sums.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "replay/json_series.hpp"
#include "replay/stage.hpp"
#include "trace/event.hpp"

namespace heapwright::replay {
namespace {

constexpr std::size_t window_operations = 16384;

// The function of a group, its its calls, their ticks and percentiles.
std::string fields_of(std::uint8_t kind, const CallTimes& times) {
  const bool is_heap_call = kind < serve_make;
  const auto name = is_heap_call ? trace::name_of(static_cast<trace::EventKind>(kind)) : "changed";
  std::string json = "\"function\":\"" + std::string(name) + "\"";
  json += ",\"calls\":" + std::to_string(times.calls()) + ",\"ticks\":" + std::to_string(times.sum());
  for (const auto& [key, share] : {std::pair{"p50", 0.5}, {"p99", 0.99}, {"p999", 0.999}}) {
    json += std::string(",\"") + key + "_ticks\":" + std::to_string(std::llround(times.at(share)));
  }
  return json + ",\"most_ticks\":" + std::to_string(times.most());
}

}  // namespace

TimeSums::TimeSums(const PlanFile& plan, OperationTimes& times) : stacks_(plan.header().stacks) {
  std::vector<Operation> operations(window_operations);
  std::vector<std::uint32_t> stacks(window_operations);
  for (std::uint32_t number = 0; number < plan.header().lanes; ++number) {
    const Lane& lane = plan.lanes()[number];
    const OperationTime* time = times.of_lane(number);
    Stretch<Operation> next_operation;
    Stretch<std::uint32_t> next_stack;
    next_operation.open(plan, lane.offset, lane.count, operations.data(), window_operations);
    next_stack.open(plan, lane.stacks_offset, lane.count, stacks.data(), window_operations);
    const bool counts = number != plan.header().background_lane;
    std::uint64_t row_ticks = 0;
    while (!next_operation.is_at_end()) {
      const Operation& operation = next_operation.next();
      row_ticks = operation.made() ? 0 : row_ticks + (operation.kind == serve_later ? 0 : time->call_ticks());
      if (counts) longest_row_ticks_ = std::max(longest_row_ticks_, row_ticks);
      add(operation, next_stack.next(), *time++, counts);
    }
  }
}

void TimeSums::add(const Operation& operation, std::uint32_t stack, const OperationTime& time, bool counts) {
  if (!time.is_known()) return;
  if (stack >= stacks_.size()) refuse_damaged();
  stacks_[stack].calls += counts ? 1 : 0;
  stacks_[stack].ticks += time.call_ticks() + time.touch_ticks();
  const std::uint64_t size = operation.kind == serve_take ? 0 : operation.size;
  groups_[{static_cast<std::uint8_t>(operation.kind), std::bit_ceil(size)}].add(time.call_ticks());
}

std::string TimeSums::json() const {
  std::vector<std::uint32_t> called;
  for (std::uint32_t stack = 0; stack < stacks_.size(); ++stack) {
    if (stacks_[stack].calls > 0) called.push_back(stack);
  }
  std::string json = "{";
  put_series(json, "stacks", called, [](auto stack) { return stack; });
  put_series(json, "stack_calls", called, [&](auto stack) { return stacks_[stack].calls; });
  put_series(json, "stack_ticks", called, [&](auto stack) { return stacks_[stack].ticks; });
  json += "\"longest_row_ticks\":" + std::to_string(longest_row_ticks_) + ",\"groups\":[";
  const char* separator = "";
  std::map<std::uint8_t, CallTimes> functions;
  for (const auto& [group, times] : groups_) {
    json += std::string(separator) + "{" + fields_of(group.kind, times);
    json += ",\"largest_bytes\":" + std::to_string(group.largest_bytes) + "}";
    functions[group.kind].add(times);
    separator = ",";
  }
  json += "],\"functions\":[";
  separator = "";
  for (const auto& [kind, times] : functions) {
    json += std::string(separator) + "{" + fields_of(kind, times) + "}";
    separator = ",";
  }
  return json + "]}\n";
}

}  // namespace heapwright::replay
