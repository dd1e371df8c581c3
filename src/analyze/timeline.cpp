// SPDX-License-Identifier: MIT
#include "analyze/timeline.hpp"

#include <algorithm>

namespace heapwright::analyze {
namespace {

__extension__ using Wide = unsigned __int128;  // span x points overflows 64 bits

}  // namespace

TimeSteps::TimeSteps(std::uint64_t from_ns, std::uint64_t to_ns, std::uint32_t points)
    : from_ns_(from_ns),
      span_ns_(to_ns > from_ns ? to_ns - from_ns : 0),
      divisor_(std::max<std::uint64_t>(span_ns_, 1)),
      points_(points) {}

std::uint32_t TimeSteps::step_of(std::uint64_t time_ns) const noexcept { return place_of(time_ns, points_); }

std::uint32_t TimeSteps::place_of(std::uint64_t time_ns, std::uint32_t places) const noexcept {
  if (time_ns <= from_ns_ || places == 0) {
    return 0;
  }
  const auto offset = time_ns - from_ns_;
  if (offset >= divisor_) {
    return places - 1;
  }
  return static_cast<std::uint32_t>(Wide{offset} * places / divisor_);
}

std::uint64_t TimeSteps::end_of(std::uint32_t step) const noexcept {
  // Rounded up: step_of(end_of(step)) == step + 1.
  const auto product = Wide{divisor_} * (std::uint64_t{step} + 1);
  return from_ns_ + static_cast<std::uint64_t>((product + points_ - 1) / points_);
}

void TimelineCalls::add(std::uint32_t step, std::uint64_t allocations, std::uint64_t allocator_ns) noexcept {
  if (step < steps_.size()) {
    steps_[step].allocations += allocations;
    steps_[step].allocator_ns += allocator_ns;
  }
}

void TimelineCalls::add(const TimelineCalls& other) noexcept {
  for (std::size_t step = 0; step < steps_.size(); ++step) {
    const auto& from = other.steps_[step];
    add(static_cast<std::uint32_t>(step), from.allocations, from.allocator_ns);
  }
}

void TimelineCalls::finish(std::vector<TimelinePoint>& timeline) const {
  for (std::size_t step = 0; step < steps_.size() && step < timeline.size(); ++step) {
    timeline[step].allocations = steps_[step].allocations;
    timeline[step].allocator_ns = steps_[step].allocator_ns;
  }
}

std::uint64_t TimelineLive::next_border_ns() const noexcept {
  const auto step = static_cast<std::uint32_t>(points_.size());
  return step + 1 < steps_.points() ? steps_.end_of(step) : UINT64_MAX;
}

void TimelineLive::close_step(const LivePeak& live) {
  TimelinePoint point;
  point.time_ns = steps_.end_of(static_cast<std::uint32_t>(points_.size()));
  point.live_bytes = live.live_bytes();
  point.live_usable_bytes = live.live_usable_bytes();
  point.live_blocks = live.live_blocks();
  point.highest_live_bytes = highest_;
  point.usable_at_highest_bytes = usable_at_highest_;
  point.releases = releases_;
  point.allocator_ns = release_ns_;
  points_.push_back(point);
  begin_window(live);
}

void TimelineLive::begin_window(const LivePeak& live) {
  highest_ = live.live_bytes();
  usable_at_highest_ = live.live_usable_bytes();
  releases_ = 0;
  release_ns_ = 0;
}

void TimelineLive::close_steps(std::uint64_t time_ns, const LivePeak& live) {
  while (points_.size() + 1 < steps_.points() && next_border_ns() <= time_ns) {
    close_step(live);
  }
}

void TimelineLive::finish(const LivePeak& live, const std::vector<trace::MemorySample>& samples,
                          std::vector<TimelinePoint>& timeline) {
  while (points_.size() < steps_.points()) {
    close_step(live);
  }
  auto sorted = samples;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  auto sample = sorted.begin();
  trace::MemorySample latest;
  for (std::size_t step = 0; step < points_.size() && step < timeline.size(); ++step) {
    auto& point = points_[step];
    for (; sample != sorted.end() && sample->time_ns <= point.time_ns; ++sample) {
      latest = *sample;
    }
    point.resident_bytes = latest.resident_anonymous_bytes;
    point.resident_file_bytes = latest.resident_file_bytes;
    point.resident_shared_bytes = latest.resident_shared_bytes;
    point.recorder_bytes = latest.recorder_bytes;
    point.swapped_bytes = latest.swapped_bytes;
    point.page_table_bytes = latest.page_table_bytes;
    point.cgroup_charge_bytes = latest.cgroup_charge_bytes;
    point.allocations = timeline[step].allocations;
    point.allocator_ns += timeline[step].allocator_ns;
    timeline[step] = point;
  }
}

}  // namespace heapwright::analyze
