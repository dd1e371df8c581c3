// SPDX-License-Identifier: MIT
#include "replay/due_times.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>

#include "figures/process_figures.hpp"
#include "figures/refusal.hpp"
#include "platform/clock.hpp"
#include "platform/pause.hpp"

namespace heapwright::replay {
namespace {

constexpr std::uint64_t comparing_ns = 20'000'000;
// Shorter gaps are spent spinning, as most programs work during them; a sleep may overrun by this much.
constexpr double least_sleep_ns = 100'000;
constexpr double wakes_before_ns = 60'000;
constexpr double late_ns = 50'000;

// The same moment on both clocks. A thread that is preempted between two readings reads again.
struct Moment {
  std::uint64_t ns = 0;
  std::uint64_t ticks = 0;
};

Moment moment_of_both() noexcept {
  Moment best;
  auto least_ns = UINT64_MAX;
  for (int look = 0; look < 100; ++look) {
    const auto before_ns = figures::now_ns();
    const auto ticks = platform::read_ticks(true);
    const auto apart_ns = figures::now_ns() - before_ns;
    if (apart_ns >= least_ns) continue;
    least_ns = apart_ns;
    best = {before_ns + apart_ns / 2, ticks};
  }
  return best;
}

double ticks_per_ns() noexcept {
  const Moment begin = moment_of_both();
  while (figures::now_ns() - begin.ns < comparing_ns) platform::pause();
  const Moment end = moment_of_both();
  return static_cast<double>(end.ticks - begin.ticks) / static_cast<double>(end.ns - begin.ns);
}

}  // namespace

DueTimes::DueTimes(const PlanFile& plan, double rate)
    : plan_(plan),
      lanes_(plan.header().lanes),
      ticks_per_ns_(ticks_per_ns()),
      ticks_per_program_ns_(ticks_per_ns_ / rate) {
  if (plan.header().has_times == 0) figures::refuse("the plan has no times; make it with gaps");
  for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane) {
    const Lane& own = plan.lanes()[lane];
    lanes_[lane].due_ns.open(plan, own.times_offset, own.count, lanes_[lane].read.data(), window);
  }
  prctl(PR_SET_TIMERSLACK, 1UL);
}

void DueTimes::begin_whole() noexcept {
  if (plan_.header().measured_lanes == 0) begin();
}

void DueTimes::begin_lane() noexcept {
  if (begun_.fetch_add(1, std::memory_order_acq_rel) + 1 == plan_.header().measured_lanes) begin();
}

void DueTimes::begin() noexcept { begin_ticks_.store(platform::read_ticks(true), std::memory_order_release); }

void DueTimes::await_next(std::uint32_t lane, std::uint64_t behind_ticks) noexcept {
  LaneTimes& own = lanes_[lane];
  const auto due_ns = own.due_ns.next();
  if (due_ns == 0) return;  // it allocated the blocks that lived before a window
  while (begin_ticks_.load(std::memory_order_acquire) == 0) sched_yield();
  const auto due_ticks = begin_ticks_.load(std::memory_order_relaxed) +
                         static_cast<std::uint64_t>(static_cast<double>(due_ns) * ticks_per_program_ns_);
  auto now_ticks = behind_ticks;
  while (now_ticks < due_ticks) {
    now_ticks = platform::read_ticks(true);
    const double left_ns = static_cast<double>(due_ticks - std::min(due_ticks, now_ticks)) / ticks_per_ns_;
    if (left_ns > least_sleep_ns) {
      sleep_for(static_cast<std::uint64_t>(left_ns - wakes_before_ns));
    } else {
      platform::pause();
    }
  }
  if (static_cast<double>(now_ticks - due_ticks) > late_ns * ticks_per_ns_) ++own.late;
}

std::uint64_t DueTimes::late() const noexcept {
  std::uint64_t sum = 0;
  for (const LaneTimes& lane : lanes_.first(lanes_.size())) sum += lane.late;
  return sum;
}

void DueTimes::sleep_for(std::uint64_t time_ns) noexcept {
  const timespec time{static_cast<time_t>(time_ns / 1'000'000'000),
                      static_cast<long>(time_ns % 1'000'000'000)};
  nanosleep(&time, nullptr);
}

}  // namespace heapwright::replay
