// SPDX-License-Identifier: MIT
// Plans with a change, and what is in them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "replay/dependency_order.hpp"
#include "replay/plan_of.hpp"
#include "replay/recorded_order.hpp"
#include "trace/damage.hpp"

namespace heapwright::replay {

// The call stack of the sites.
inline constexpr std::uint32_t chosen = 2;

inline ChangeRequest request_of(ChangePart part) { return {{part}, {0, 0, 1}, {}}; }
inline ChangeRequest request_of(Change change) { return request_of(ChangePart{change, 0}); }

inline std::vector<unsigned> kinds_of(const PlanOf& plan, std::uint32_t lane) {
  std::vector<unsigned> found;
  for (const Operation& operation : plan.operations(lane)) {
    if (!operation.is_control()) found.push_back(operation.kind);
  }
  return found;
}

inline unsigned number_of(trace::EventKind kind) { return static_cast<unsigned>(kind); }

inline std::string refusal_of(order::MemoryTrace& trace, Change change) {
  try {
    const PlanOf plan(trace, request_of(change));
  } catch (const trace::TraceError& error) {
    return error.what();
  }
  return "";
}

template <typename Order, typename... Arguments>
void run(const PlanOf& plan, Arguments... arguments) {
  Stage stage(plan.path());
  Order order(stage, arguments...);
  order.run();
  for (std::uint32_t lane = 0; lane < stage.lane_count(); ++lane) {
    EXPECT_TRUE(stage.lane(lane).operations.is_at_end()) << lane;
  }
}

inline void run_both(const PlanOf& plan) {
  run<RecordedOrder>(plan, 0, 0);
  run<DependencyOrder>(plan, false);
}

}  // namespace heapwright::replay
