// SPDX-License-Identifier: MIT
#include "replay/time_sums.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "replay/json_series.hpp"
#include "replay/stage.hpp"
#include "trace/kind_names.hpp"

namespace heapwright::replay {
namespace {

constexpr std::size_t window_operations = 16384;

// With this many, ten calls are slower than the median.
constexpr std::uint64_t least_calls_of_site = 20;
// Sites below this share of the time decide nothing, and there may be thousands of them.
constexpr std::uint64_t least_share_of_site = 1000;

std::string function_field(std::uint8_t kind) {
  const bool is_heap_call = kind < serve_make;
  const auto name = is_heap_call ? trace::name_of(static_cast<trace::EventKind>(kind)) : "changed";
  return "\"function\":\"" + std::string(name) + "\"";
}

// The function of a group, its calls, their ticks and percentiles.
std::string fields_of(std::uint8_t kind, const CallTimes& times) {
  std::string json = function_field(kind);
  json += ",\"calls\":" + std::to_string(times.calls()) + ",\"ticks\":" + std::to_string(times.sum());
  for (const auto& [key, share] : {std::pair{"p50", 0.5}, {"p99", 0.99}, {"p999", 0.999}}) {
    json += std::string(",\"") + key + "_ticks\":" + std::to_string(std::llround(times.at(share)));
  }
  return json + ",\"most_ticks\":" + std::to_string(times.most());
}

std::string site_fields_of(const SiteTimes::Group& group) {
  std::string json = "\"site\":" + std::to_string(group.site) + "," + function_field(group.kind);
  json += ",\"largest_bytes\":" + std::to_string(group.largest_bytes);
  json += ",\"calls\":" + std::to_string(group.calls);
  json += ",\"p50_ticks\":" + std::to_string(std::llround(group.p50_ticks));
  json += ",\"p99_ticks\":" + std::to_string(std::llround(group.p99_ticks));
  return json + ",\"p999_ticks\":" + std::to_string(std::llround(group.p999_ticks));
}

// Calls visit(lane, operation, stack, time) for each operation, lane by lane.
template <typename Visit>
void for_each(const PlanFile& plan, OperationTimes& times, Visit visit) {
  std::vector<Operation> operations(window_operations);
  std::vector<std::uint32_t> stacks(window_operations);
  for (std::uint32_t number = 0; number < plan.header().lanes; ++number) {
    const Lane& lane = plan.lanes()[number];
    const OperationTime* time = times.of_lane(number);
    Stretch<Operation> next_operation;
    Stretch<std::uint32_t> next_stack;
    next_operation.open(plan, lane.offset, lane.count, operations.data(), window_operations);
    next_stack.open(plan, lane.stacks_offset, lane.count, stacks.data(), window_operations);
    while (!next_operation.is_at_end()) visit(number, next_operation.next(), next_stack.next(), *time++);
  }
}

}  // namespace

TimeSums::TimeSums(const PlanFile& plan, OperationTimes& times, std::vector<std::uint32_t> site_of_stack)
    : stacks_(plan.header().stacks) {
  std::uint64_t row_ticks = 0;
  std::uint32_t last_lane = 0;
  for_each(plan, times, [&](std::uint32_t lane, const Operation& operation, std::uint32_t stack, auto time) {
    const bool counts = lane != plan.header().background_lane;
    if (lane != last_lane || operation.made()) row_ticks = 0;
    if (!operation.made() && operation.kind != serve_later) row_ticks += time.call_ticks();
    if (counts) longest_row_ticks_ = std::max(longest_row_ticks_, row_ticks);
    last_lane = lane;
    add(operation, stack, time, counts);
  });
  if (site_of_stack.empty() || !leave_out_small(site_of_stack)) return;
  sites_.emplace(std::move(site_of_stack));
  for_each(plan, times, [&](std::uint32_t, const Operation& operation, std::uint32_t stack, auto time) {
    if (!time.is_known()) return;
    const Group group = group_of(operation);
    sites_->add(stack, group.kind, group.largest_bytes, time.call_ticks());
  });
}

// Whether any site is left.
bool TimeSums::leave_out_small(std::vector<std::uint32_t>& site_of_stack) const {
  site_of_stack.resize(stacks_.size());
  std::map<std::uint32_t, std::uint64_t> ticks;
  std::uint64_t all_ticks = 0;
  for (std::size_t stack = 0; stack < stacks_.size(); ++stack) {
    ticks[site_of_stack[stack]] += stacks_[stack].ticks;
    all_ticks += stacks_[stack].ticks;
  }
  bool is_any_left = false;
  for (std::uint32_t& site : site_of_stack) {
    const bool is_small = ticks[site] < all_ticks / least_share_of_site;
    if (is_small) site = SiteTimes::left_out;
    is_any_left = is_any_left || !is_small;
  }
  return is_any_left;
}

TimeSums::Group TimeSums::group_of(const Operation& operation) noexcept {
  const std::uint64_t size = operation.kind == serve_take ? 0 : operation.size;
  return {static_cast<std::uint8_t>(operation.kind), std::bit_ceil(size)};
}

void TimeSums::add(const Operation& operation, std::uint32_t stack, const OperationTime& time, bool counts) {
  if (!time.is_known()) return;
  if (stack >= stacks_.size()) refuse_damaged();
  stacks_[stack].calls += counts ? 1 : 0;
  stacks_[stack].ticks += time.call_ticks() + time.touch_ticks();
  groups_[group_of(operation)].add(time.call_ticks());
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
  json += "],\"site_groups\":[";
  separator = "";
  for (const auto& group : sites_ ? sites_->groups(least_calls_of_site) : std::vector<SiteTimes::Group>{}) {
    json += std::string(separator) + "{" + site_fields_of(group) + "}";
    separator = ",";
  }
  return json + "]}\n";
}

}  // namespace heapwright::replay
