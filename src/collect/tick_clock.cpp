// SPDX-License-Identifier: MIT
#include "collect/tick_clock.hpp"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include "platform/clock.hpp"

namespace heapwright::collect {
namespace {

constexpr char clock_source[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
constexpr char cpu_info[] = "/proc/cpuinfo";

constexpr int calm_attempts = 64;
constexpr int brief_attempts = 4;

std::uint64_t clock_ns(clockid_t clock) noexcept {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(now.tv_nsec);
}

void sleep_ns(std::uint64_t duration_ns) noexcept {
  timespec duration{static_cast<time_t>(duration_ns / 1'000'000'000ULL),
                    static_cast<long>(duration_ns % 1'000'000'000ULL)};
  nanosleep(&duration, nullptr);
}

}  // namespace

bool is_tsc_reliable(const std::string& clock_source_path, const std::string& cpu_info_path) {
  std::string name;
  std::ifstream(clock_source_path) >> name;
  if (name != "tsc") return false;
  std::ifstream processors(cpu_info_path);
  std::string line;
  while (std::getline(processors, line)) {
    if (!line.starts_with("flags")) continue;
    line += ' ';
    return line.find(" constant_tsc ") != std::string::npos &&
           line.find(" nonstop_tsc ") != std::string::npos;
  }
  return false;
}

TickClock::TickClock() : is_tsc_(is_tsc_reliable(clock_source, cpu_info)) {
  first_ = read_both(calm_attempts);
  conversion_.epoch_ticks = first_.ticks;
  const std::uint64_t since_reading_ns = clock_ns(CLOCK_MONOTONIC) - first_.monotonic_ns;
  start_unix_ns_ = clock_ns(CLOCK_REALTIME) - since_reading_ns;
}

// The tightest of a few attempts: an interrupt between the two clock reads shows up as a wide one.
TickClock::Reading TickClock::read_both(int attempts) const noexcept {
  Reading best;
  best.width_ticks = std::numeric_limits<std::uint64_t>::max();
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const std::uint64_t before = platform::read_ticks(is_tsc_);
    const std::uint64_t monotonic_ns = clock_ns(CLOCK_MONOTONIC);
    const std::uint64_t width = platform::read_ticks(is_tsc_) - before;
    if (width < best.width_ticks) best = {before + width / 2, monotonic_ns, width};
  }
  return best;
}

void TickClock::calibrate() {
  if (!is_tsc_) return;
  const std::uint64_t passed_ns = clock_ns(CLOCK_MONOTONIC) - first_.monotonic_ns;
  if (passed_ns < calibration_ns) sleep_ns(calibration_ns - passed_ns);
  const Reading second = read_both(calm_attempts);
  const auto ticks = static_cast<long double>(second.ticks - first_.ticks);
  const auto elapsed_ns = static_cast<long double>(second.monotonic_ns - first_.monotonic_ns);
  conversion_.ns_per_tick_q32 = static_cast<std::uint64_t>(std::llround(elapsed_ns / ticks * 4294967296.0L));
  const auto half_widths = static_cast<double>(first_.width_ticks + second.width_ticks) / 2;
  error_ppm_ = half_widths / static_cast<double>(ticks) * 1e6;
}

std::uint64_t TickClock::now_ticks() const noexcept { return platform::read_ticks(is_tsc_); }

std::uint64_t TickClock::now_ns() const noexcept { return conversion_.since_epoch_ns(now_ticks()); }

TickClock::Moment TickClock::moment() const noexcept {
  const Reading reading = read_both(brief_attempts);
  return {reading.monotonic_ns, conversion_.since_epoch_ns(reading.ticks)};
}

std::uint64_t TickClock::ns_at(std::uint64_t monotonic_ns) const noexcept {
  const Moment now = moment();
  const std::uint64_t ago_ns = now.monotonic_ns - std::min(now.monotonic_ns, monotonic_ns);
  return now.ns - std::min(now.ns, ago_ns);
}

double TickClock::drift_ppm() const noexcept {
  const Reading now = read_both(calm_attempts);
  const auto true_ns = static_cast<double>(now.monotonic_ns - first_.monotonic_ns);
  const auto converted_ns = static_cast<double>(conversion_.since_epoch_ns(now.ticks));
  return true_ns > 0 ? (converted_ns - true_ns) / true_ns * 1e6 : 0;
}

}  // namespace heapwright::collect
