// SPDX-License-Identifier: MIT
#include "collect/trace_roller.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <utility>

#include "collect/signals.hpp"

namespace heapwright::collect {
namespace {

// Two cores' clocks may differ a little. A thread that writes late does no harm: no block can be freed before
// its allocation is written.
constexpr std::uint64_t clock_slack_ns = 1'000'000;

}  // namespace

void TraceRoller::begin(std::uint64_t file_bytes, std::uint64_t now_ns) {
  whole_bytes_ = file_bytes;
  const SignalsBlocked blocked;
  thread_ = std::thread([this, now_ns] { make(now_ns); });
}

void TraceRoller::make(std::uint64_t now_ns) {
  try {
    const trace::Reader old = trace::Reader::open(path_, whole_bytes_);
    // Renumbering would hide events lost to damage, so a damaged trace is not rolled. Where files cannot be
    // locked, the missing end counts as damage as well.
    const std::size_t expected = old.end().reason == trace::EndReason::missing ? 1 : 0;
    const bool is_sound = old.damage().size() == expected;
    const std::uint64_t latest_ns = now_ns - std::min(now_ns, clock_slack_ns);
    const RollLimits limits{.most_bytes = roll_at() / 2, .latest_ns = latest_ns};
    if (is_sound) rolled_ = RolledTrace::make(old, new_path(), limits, is_given_up_);
  } catch (const std::exception&) {
    rolled_.reset();  // out of memory, or damaged: keep the old trace
  }
  is_done_.store(true, std::memory_order_release);
}

std::optional<RolledTrace> TraceRoller::finish(std::uint64_t file_bytes) {
  thread_.join();
  is_done_.store(false, std::memory_order_relaxed);
  std::optional<RolledTrace> rolled = std::exchange(rolled_, std::nullopt);
  try {
    const bool is_whole = rolled && rolled->catch_up(trace::InputFile(path_, file_bytes), whole_bytes_);
    if (is_whole && std::rename(new_path().c_str(), path_.c_str()) == 0) {
      next_bytes_ = roll_at();
      return rolled;
    }
  } catch (const std::exception&) {
    rolled.reset();
  }
  unlink(new_path().c_str());
  next_bytes_ = file_bytes + room_bytes_ / 8;
  return std::nullopt;
}

void TraceRoller::give_up() {
  if (!thread_.joinable()) return;
  is_given_up_.store(true, std::memory_order_relaxed);
  thread_.join();
  rolled_.reset();
  unlink(new_path().c_str());
}

}  // namespace heapwright::collect
