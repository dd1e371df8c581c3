// SPDX-License-Identifier: MIT
// Converts a recording's times to what they would be without the recorder: its cost of the calls so far is
// subtracted.
//
// Within a stretch of a millisecond, each thread's times move earlier by the recorder's cost of that thread's
// calls, so calls that came close together do so again. At the end of the stretch all threads are in step:
// the stretch was longer by the recorder's cost of the thread with the most calls, for which the others are
// assumed to have waited. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/event_kind.hpp"
#include "trace/records.hpp"

namespace heapwright::replay {

class ProgramTime {
 public:
  ProgramTime(const trace::Metadata& metadata, std::size_t lanes)
      : allocation_ns_(metadata.self_cost_allocation_ns),
        release_ns_(metadata.self_cost_release_ns),
        spent_(lanes) {}

  // When this call begins, counted from the first call; at least 1. moment_ns: the begin of a free, the end
  // of any other call: these never decrease in the order of the merge. duration_ns: from the begin to the
  // moment.
  std::uint64_t begin_of(std::uint32_t lane, std::uint64_t moment_ns, std::uint64_t duration_ns) noexcept;
  // The recorder has written this call.
  void spend(std::uint32_t lane, trace::EventKind kind) noexcept;

 private:
  static constexpr std::uint64_t stretch_ns = 1'000'000;

  struct Spent {
    std::uint64_t stretch = 0;  // its number
    std::uint64_t ns = 0;       // cost within it
  };
  void pass(std::uint64_t moment_ns) noexcept;

  std::uint64_t allocation_ns_;
  std::uint64_t release_ns_;
  std::vector<Spent> spent_;  // by lane
  std::uint64_t stretch_ = 0;
  std::uint64_t end_ns_ = 0;  // end of the current stretch; 0: nothing has begun
  std::uint64_t first_ns_ = 0;
  std::uint64_t most_ns_ = 0;    // the highest cost of a lane in it
  std::uint64_t before_ns_ = 0;  // subtracted in earlier stretches
};

}  // namespace heapwright::replay
