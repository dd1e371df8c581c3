// SPDX-License-Identifier: MIT
// Determines which lane is the process's first thread, and when the others ended.
#pragma once

#include <cstdint>
#include <vector>

#include "order/schedule.hpp"
#include "order/source.hpp"

namespace heapwright::replay {

struct LaneEnd {
  std::uint64_t time_ns = 0;
  std::uint32_t lane = 0;
};

// The lane of the process's first thread; one past the last lane if that thread made no call.
std::uint32_t main_lane_of(const order::Source& source, const order::Schedule& schedule);

// The lanes that ended during the recording, by time; each end is after the lane's last call. Without the
// main lane.
std::vector<LaneEnd> lane_ends_of(const order::Source& source, const order::Schedule& schedule,
                                  std::uint32_t main_lane);

}  // namespace heapwright::replay
