// SPDX-License-Identifier: MIT
// When the session's recording was on, from the log in shared memory that every process switching it appends
// to.
#pragma once

#include <cstdint>
#include <vector>

#include "collect/tick_clock.hpp"
#include "session/layout.hpp"
#include "trace/records.hpp"

namespace heapwright::collect {

class SwitchHistory {
 public:
  // Records the session's initial state, at time 0.
  void begin(session::Control& control, bool is_on);
  // Switches on behalf of the collector.
  void switch_to(session::Control& control, const TickClock& clock, bool is_on);
  // Reads the new entries of the log. If some were lost (more switches between two reads than the log holds,
  // or a process died while switching), the recording counts as off.
  void read(session::Control& control, const TickClock& clock);

  // In order of time, alternating on and off; the first is an "off".
  const std::vector<trace::Switch>& all() const noexcept { return switches_; }
  bool is_on() const noexcept { return is_on_; }

 private:
  void add(std::uint64_t time_ns, bool is_on);

  std::vector<trace::Switch> switches_;
  std::uint32_t taken_ = 0;             // entries of the log
  std::uint64_t missing_since_ns_ = 0;  // an entry was begun but has not appeared; 0: none
  bool is_on_ = true;
};

}  // namespace heapwright::collect
