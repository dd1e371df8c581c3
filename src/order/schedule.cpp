// SPDX-License-Identifier: MIT
#include "order/schedule.hpp"

#include <algorithm>

namespace heapwright::order {
namespace {

struct Border {
  std::uint64_t time_ns;
  std::int64_t events;
};

void measure_width(Schedule& schedule) {
  std::vector<Border> borders;
  borders.reserve(schedule.jobs.size() * 2);
  for (const auto& job : schedule.jobs) {
    const auto count = static_cast<std::int64_t>(job.chunk->count);
    const auto last_ns = std::max(job.chunk->first_begin_ns, job.chunk->last_end_ns);
    borders.push_back({job.chunk->first_begin_ns, count});
    borders.push_back({last_ns, -count});
  }
  // Opening borders first: two chunks that touch are both held.
  std::sort(borders.begin(), borders.end(), [](const Border& a, const Border& b) {
    return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.events > b.events;
  });
  std::int64_t events = 0;
  std::int64_t chunks = 0;
  for (const auto& border : borders) {
    events += border.events;
    chunks += border.events >= 0 ? 1 : -1;
    schedule.widest_events =
        std::max(schedule.widest_events, static_cast<std::uint64_t>(std::max<std::int64_t>(events, 0)));
    schedule.widest_chunks =
        std::max(schedule.widest_chunks, static_cast<std::uint32_t>(std::max<std::int64_t>(chunks, 0)));
  }
}

}  // namespace

Schedule make_schedule(const std::vector<trace::EventChunk>& chunks, std::uint64_t to_ns) {
  Schedule schedule;
  std::unordered_map<std::uint32_t, std::uint32_t> lane_of_thread;
  schedule.jobs.reserve(chunks.size());
  for (const auto& chunk : chunks) {
    if (chunk.first_begin_ns >= to_ns || chunk.count == 0) {
      continue;
    }
    const auto lane = static_cast<std::uint32_t>(schedule.thread_of_lane.size());
    const auto [found, is_new] = lane_of_thread.try_emplace(chunk.thread, lane);
    if (is_new) {
      schedule.thread_of_lane.push_back(chunk.thread);
    }
    schedule.jobs.push_back({&chunk, found->second});
    schedule.events += chunk.count;
  }
  std::stable_sort(schedule.jobs.begin(), schedule.jobs.end(),
                   [](const ScheduledChunk& a, const ScheduledChunk& b) {
                     return a.chunk->first_begin_ns < b.chunk->first_begin_ns;
                   });
  measure_width(schedule);
  return schedule;
}

std::uint32_t Schedule::slice_events(std::uint64_t budget_bytes, std::uint64_t event_bytes) const noexcept {
  constexpr std::uint64_t smallest_slice = 256;
  const auto budget_events = budget_bytes / event_bytes;
  if (widest_events <= budget_events) {
    return UINT32_MAX;
  }
  const auto share = budget_events / std::max<std::uint64_t>(widest_chunks, 1);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(share, smallest_slice, UINT32_MAX));
}

}  // namespace heapwright::order
