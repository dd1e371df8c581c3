// SPDX-License-Identifier: MIT
// Which lane is the process's first thread, and when the others ended.
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

// The lane of the process's first thread; one after the others when that made no call.
std::uint32_t main_lane_of(const order::Source& source, const order::Schedule& schedule);

// Of the lanes that ended during the recording, by time; each lies after the lane's last call. Without the
// main lane.
std::vector<LaneEnd> lane_ends_of(const order::Source& source, const order::Schedule& schedule,
                                  std::uint32_t main_lane);

}  // namespace heapwright::replay
