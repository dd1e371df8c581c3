// SPDX-License-Identifier: MIT
#include "replay/lane_ends.hpp"

#include <algorithm>

namespace heapwright::replay {
namespace {

// The recorder notices a thread's exit at most this late, even on a busy machine. Within this time the exit
// is assumed to have followed the last call: a thread that begins meanwhile mostly begins because the other
// has ended, and reuses the memory that the ended one leaves behind.
constexpr std::uint64_t noticed_late_ns = 100'000'000;
// Rows within one quantum of the merge are not sorted by time.
constexpr std::uint64_t merge_slack_ns = 32;

}  // namespace

std::uint32_t main_lane_of(const order::Source& source, const order::Schedule& schedule) {
  const auto& threads = source.threads();
  for (std::uint32_t lane = 0; lane < schedule.thread_of_lane.size(); ++lane) {
    const auto index = schedule.thread_of_lane[lane];
    const bool is_known = index < threads.size();
    if (is_known && threads[index].thread_id == source.metadata().process_id) return lane;
  }
  return static_cast<std::uint32_t>(schedule.thread_of_lane.size());
}

std::vector<LaneEnd> lane_ends_of(const order::Source& source, const order::Schedule& schedule,
                                  std::uint32_t main_lane) {
  const auto lanes = schedule.thread_of_lane.size();
  std::vector<std::uint64_t> last_ns(lanes);
  for (const auto& job : schedule.jobs) {
    last_ns[job.lane] = std::max(last_ns[job.lane], job.chunk->last_end_ns);
  }
  std::vector<LaneEnd> ends;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    const auto index = schedule.thread_of_lane[lane];
    const bool has_ended = index < source.threads().size() && source.threads()[index].exit_ns != 0;
    if (lane == main_lane || !has_ended) continue;
    const auto exit_ns = source.threads()[index].exit_ns;
    const auto earliest_ns = exit_ns - std::min(exit_ns, noticed_late_ns);
    ends.push_back({std::max(last_ns[lane], earliest_ns) + merge_slack_ns, lane});
  }
  std::sort(ends.begin(), ends.end(),
            [](const LaneEnd& a, const LaneEnd& b) { return a.time_ns < b.time_ns; });
  return ends;
}

}  // namespace heapwright::replay
