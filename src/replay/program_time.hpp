// SPDX-License-Identifier: MIT
// A recording's moments as they were without the recorder: what it spent on the calls so far is taken out.
//
// Within a stretch of a millisecond each thread's moments come earlier by what the recorder spent on its own
// calls, so that calls that came close together do so again. Behind it all threads are together: the stretch
// was longer by what the recorder spent on the thread with most calls, for which the others are taken to have
// waited. One thread at a time.
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

  // When this call begins, counted from the first call; 1 at least. moment_ns: the begin of a release, the
  // end of any other call: such moments do not fall, in the order of the merge. duration_ns: what lies
  // between the begin and the moment.
  std::uint64_t begin_of(std::uint32_t lane, std::uint64_t moment_ns, std::uint64_t duration_ns) noexcept;
  // The recorder has written this call.
  void spend(std::uint32_t lane, trace::EventKind kind) noexcept;

 private:
  static constexpr std::uint64_t stretch_ns = 1'000'000;

  struct Spent {
    std::uint64_t stretch = 0;  // its number
    std::uint64_t ns = 0;       // in it
  };
  void pass(std::uint64_t moment_ns) noexcept;

  std::uint64_t allocation_ns_;
  std::uint64_t release_ns_;
  std::vector<Spent> spent_;  // by lane
  std::uint64_t stretch_ = 0;
  std::uint64_t end_ns_ = 0;  // of the stretch; 0: nothing began
  std::uint64_t first_ns_ = 0;
  std::uint64_t most_ns_ = 0;    // that was spent on one lane in it
  std::uint64_t before_ns_ = 0;  // taken out of the stretches before
};

}  // namespace heapwright::replay
