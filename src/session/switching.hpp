// SPDX-License-Identifier: MIT
// Switches a session's recording on or off and logs the time, so that the trace can say what it covers. Used
// by the recorder (switching by the program) and by the collector (the control file).
//
// Between an "on" and the next "off" every call is recorded: the time of an "on" is read after the switch,
// that of an "off" before it.
#pragma once

#include "session/layout.hpp"

namespace heapwright::session {

inline constexpr std::uint32_t switch_entries = sizeof(SwitchLog::entries) / sizeof(SwitchLog::entries[0]);

// `now_ticks` reads the session's clock. Lock-free; from any process or thread.
template <typename Clock>
void switch_recording(Control& control, bool is_on, Clock now_ticks) noexcept {
  const std::uint64_t before_ticks = now_ticks();
  const std::uint32_t was_on = control.is_recording.exchange(is_on ? 1 : 0, std::memory_order_acq_rel);
  if ((was_on != 0) == is_on) return;
  const std::uint64_t ticks = is_on ? now_ticks() : before_ticks;
  const std::uint32_t number = control.switch_log.count.fetch_add(1, std::memory_order_relaxed);
  control.switch_log.entries[number % switch_entries].store(ticks << 1 | (is_on ? 1 : 0),
                                                            std::memory_order_release);
}

}  // namespace heapwright::session
