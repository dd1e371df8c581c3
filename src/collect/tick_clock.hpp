// SPDX-License-Identifier: MIT
// Converts the recorder's ticks to nanoseconds since the session's epoch. One epoch and one multiplier for
// the whole session put the traces of a program and its children on one time line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace heapwright::collect {

// ns = (ticks - epoch_ticks) * ns_per_tick_q32 / 2^32
struct TickConversion {
  std::uint64_t epoch_ticks = 0;
  std::uint64_t ns_per_tick_q32 = 1ULL << 32;

  // Ticks before the epoch (a corrupted session) count as the epoch.
  std::uint64_t since_epoch_ns(std::uint64_t ticks) const noexcept {
    const std::uint64_t passed = ticks > epoch_ticks ? ticks - epoch_ticks : 0;
    return length_ns(passed);
  }

  std::uint64_t length_ns(std::uint64_t ticks) const noexcept {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(ticks) * ns_per_tick_q32;
    return static_cast<std::uint64_t>(std::min<Wide>(product >> 32, longest_ns));
  }

  // length_ns() without its limit, for ticks that are known to be valid.
  std::uint64_t sane_length_ns(std::uint64_t ticks) const noexcept {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(ticks) * ns_per_tick_q32) >> 32);
  }

  // Rounded down; for lengths up to 2^32 ns.
  std::uint64_t ticks_in(std::uint64_t ns) const noexcept { return (ns << 32) / ns_per_tick_q32; }

  static constexpr std::uint64_t longest_ns = 1ULL << 62;
};

class TickClock {
 public:
  // Takes the first reading, which sets the epoch.
  TickClock();

  // Takes the second reading, at least `calibration_ns` after the first (sleeps if necessary). Must be called
  // once, before conversion().
  void calibrate();

  bool is_tsc() const noexcept { return is_tsc_; }
  const TickConversion& conversion() const noexcept { return conversion_; }
  std::uint64_t start_unix_ns() const noexcept { return start_unix_ns_; }
  std::uint64_t now_ns() const noexcept;
  std::uint64_t now_ticks() const noexcept;

  // The same moment on both clocks.
  struct Moment {
    std::uint64_t monotonic_ns = 0;
    std::uint64_t ns = 0;  // since the epoch
  };
  // Accurate to about 100 ns, unless the caller is interrupted four times in a row.
  Moment moment() const noexcept;
  // Converts a CLOCK_MONOTONIC time; 0: before the epoch.
  std::uint64_t ns_at(std::uint64_t monotonic_ns) const noexcept;

  // The maximum error of the multiplier, from the width of the readings.
  double error_ppm() const noexcept { return error_ppm_; }
  // Its deviation from CLOCK_MONOTONIC from the epoch until now.
  double drift_ppm() const noexcept;

  static constexpr std::uint64_t calibration_ns = 10'000'000;

 private:
  struct Reading {
    std::uint64_t ticks = 0;
    std::uint64_t monotonic_ns = 0;
    std::uint64_t width_ticks = 0;
  };
  Reading read_both(int attempts) const noexcept;

  bool is_tsc_ = false;
  Reading first_;
  TickConversion conversion_;
  std::uint64_t start_unix_ns_ = 0;
  double error_ppm_ = 0;
};

// Whether the kernel itself keeps time by the time stamp counter. `clock_source_path` and `cpu_info_path` as
// in /sys and /proc.
bool is_tsc_reliable(const std::string& clock_source_path, const std::string& cpu_info_path);

}  // namespace heapwright::collect
