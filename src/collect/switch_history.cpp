// SPDX-License-Identifier: MIT
#include "collect/switch_history.hpp"

#include <algorithm>

#include "session/switching.hpp"

namespace heapwright::collect {
namespace {

// Beyond this the trace says "off" permanently: it shows less than was recorded, never more.
constexpr std::size_t most_switches = 1U << 16;
// A process takes at most this long between an entry's number and the entry itself, or it is dead.
constexpr std::uint64_t longest_entry_ns = 1'000'000'000;

}  // namespace

void SwitchHistory::begin(session::Control& control, bool is_on) {
  control.is_recording.store(is_on ? 1 : 0, std::memory_order_release);
  if (!is_on) add(0, false);
}

void SwitchHistory::switch_to(session::Control& control, const TickClock& clock, bool is_on) {
  session::switch_recording(control, is_on, [&clock] { return clock.now_ticks(); });
  read(control, clock);
}

void SwitchHistory::add(std::uint64_t time_ns, bool is_on) {
  if (is_on == is_on_ || switches_.size() >= most_switches) return;
  const std::uint64_t last_ns = switches_.empty() ? 0 : switches_.back().time_ns;
  switches_.push_back({std::max(time_ns, last_ns), is_on});
  is_on_ = is_on;
}

void SwitchHistory::read(session::Control& control, const TickClock& clock) {
  session::SwitchLog& log = control.switch_log;
  const std::uint64_t now_ns = clock.now_ns();
  const std::uint32_t count = log.count.load(std::memory_order_acquire);
  if (count - taken_ > session::switch_entries) {
    // What was overwritten is unknown: "off" since the last known entry.
    add(switches_.empty() ? 0 : switches_.back().time_ns, false);
    for (auto& entry : log.entries) entry.store(0, std::memory_order_relaxed);
    taken_ = count;
    if (control.is_recording.load(std::memory_order_acquire) != 0) add(now_ns, true);
    return;
  }
  while (taken_ != count) {
    auto& place = log.entries[taken_ % session::switch_entries];
    const std::uint64_t entry = place.exchange(0, std::memory_order_acquire);
    if (entry == 0) {
      if (missing_since_ns_ == 0) missing_since_ns_ = now_ns;
      if (now_ns - missing_since_ns_ < longest_entry_ns) return;
      add(switches_.empty() ? 0 : switches_.back().time_ns, false);
      if (control.is_recording.load(std::memory_order_acquire) != 0) add(now_ns, true);
    } else {
      add(std::min(clock.conversion().since_epoch_ns(entry >> 1), now_ns), (entry & 1) != 0);
    }
    missing_since_ns_ = 0;
    ++taken_;
  }
}

}  // namespace heapwright::collect
