// SPDX-License-Identifier: MIT
// When the session's recording was on, from the log that all who switch it
// keep in shared memory.
#pragma once

#include <cstdint>
#include <vector>

#include "collect/tick_clock.hpp"
#include "session/layout.hpp"
#include "trace/records.hpp"

namespace heapwright::collect {

class SwitchHistory {
 public:
  // Takes the state that the session begins with, at time 0.
  void begin(session::Control& control, bool is_on);
  // Switches on behalf of the collector.
  void switch_to(session::Control& control, const TickClock& clock, bool is_on);
  // Takes the new entries of the log. Where some were lost (more switches
  // between two looks than the log holds, a process that died while it
  // switched) the recording counts as off.
  void read(session::Control& control, const TickClock& clock);

  // In order of time, on and off in turn; the first is an "off".
  const std::vector<trace::Switch>& all() const noexcept { return switches_; }
  bool is_on() const noexcept { return is_on_; }

 private:
  void add(std::uint64_t time_ns, bool is_on);

  std::vector<trace::Switch> switches_;
  std::uint32_t taken_ = 0;             // entries of the log
  std::uint64_t missing_since_ns_ = 0;  // an entry was begun and did not come; 0: none
  bool is_on_ = true;
};

}  // namespace heapwright::collect
