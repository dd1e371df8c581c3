// SPDX-License-Identifier: MIT
// The recording in equal steps of time: allocations and other calls per step (order-free), releases and live
// bytes at the end of each step (ordered), resident bytes (sampled).
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/facts/timeline.hpp"
#include "analyze/peak.hpp"
#include "trace/records.hpp"

namespace heapwright::analyze {

// [from_ns, to_ns) divided into `points` steps.
class TimeSteps {
 public:
  TimeSteps(std::uint64_t from_ns, std::uint64_t to_ns, std::uint32_t points);

  std::uint32_t points() const noexcept { return points_; }
  std::uint64_t from_ns() const noexcept { return from_ns_; }
  std::uint64_t span_ns() const noexcept { return span_ns_; }
  // Times outside the span belong to the first or last step.
  std::uint32_t step_of(std::uint64_t time_ns) const noexcept;
  std::uint64_t end_of(std::uint32_t step) const noexcept;
  // The same for 64 equal parts.
  std::uint32_t part_of(std::uint64_t time_ns) const noexcept { return place_of(time_ns, 64); }

 private:
  std::uint32_t place_of(std::uint64_t time_ns, std::uint32_t places) const noexcept;

  std::uint64_t from_ns_;
  std::uint64_t span_ns_;
  std::uint64_t divisor_;  // the span, but never 0
  std::uint32_t points_;
};

class TimelineCalls {
 public:
  explicit TimelineCalls(std::uint32_t points) : steps_(points) {}
  void add(std::uint32_t step, std::uint64_t allocations, std::uint64_t allocator_ns) noexcept;
  void add(const TimelineCalls& other) noexcept;
  void finish(std::vector<TimelinePoint>& timeline) const;  // must already have its final size

 private:
  struct Step {
    std::uint64_t allocations = 0;
    std::uint64_t allocator_ns = 0;
  };
  std::vector<Step> steps_;
};

class TimelineLive {
 public:
  explicit TimelineLive(const TimeSteps& steps) : steps_(steps) { points_.reserve(steps.points()); }

  void add_release(std::uint64_t weight, std::uint64_t ns) noexcept {
    releases_ += weight;
    release_ns_ += ns;
  }
  void raise(std::uint64_t live_bytes, std::uint64_t usable_bytes) noexcept {
    if (live_bytes > highest_) {
      highest_ = live_bytes;
      usable_at_highest_ = usable_bytes;
    }
  }
  // When close_steps is due. The last step stays open until finish, for events exactly at its end.
  std::uint64_t next_border_ns() const noexcept;
  // Closes every step that ends at or before `time_ns` with the present state.
  void close_steps(std::uint64_t time_ns, const LivePeak& live);
  std::size_t closed() const noexcept { return points_.size(); }
  void begin_window(const LivePeak& live);
  // Adds to what TimelineCalls has filled in.
  void finish(const LivePeak& live, const std::vector<trace::MemorySample>& samples,
              std::vector<TimelinePoint>& timeline);

 private:
  void close_step(const LivePeak& live);

  const TimeSteps& steps_;
  std::vector<TimelinePoint> points_;
  std::uint64_t highest_ = 0;
  std::uint64_t usable_at_highest_ = 0;
  std::uint64_t releases_ = 0;  // of the open step
  std::uint64_t release_ns_ = 0;
};

}  // namespace heapwright::analyze
