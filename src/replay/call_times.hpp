// SPDX-License-Identifier: MIT
// Call durations as a histogram whose steps are a sixteenth of their value. One thread at a time.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace heapwright::replay {

class CallTimes {
 public:
  void add(std::uint64_t ticks) noexcept {
    ++counts_[step_of(ticks)];
    ++calls_;
    sum_ += ticks;
    if (ticks > most_) most_ = ticks;
  }

  void add(const CallTimes& other) noexcept {
    for (std::size_t step = 0; step < steps; ++step) counts_[step] += other.counts_[step];
    calls_ += other.calls_;
    sum_ += other.sum_;
    most_ = most_ > other.most_ ? most_ : other.most_;
  }

  std::uint64_t calls() const noexcept { return calls_; }
  std::uint64_t sum() const noexcept { return sum_; }
  std::uint64_t most() const noexcept { return most_; }

  // The quantile: the time that this share of the calls does not exceed, as the middle of its step.
  double at(double share) const noexcept {
    const auto wanted = share * static_cast<double>(calls_);
    double seen = 0;
    for (std::size_t step = 0; step < steps; ++step) {
      seen += static_cast<double>(counts_[step]);
      if (seen >= wanted && seen > 0) return middle_of(step);
    }
    return static_cast<double>(most_);
  }

  // Below 16 each value has its own step; above, each power of two has 16.
  static constexpr std::size_t per_power = 16;
  static constexpr std::size_t steps = per_power * 45;

  static std::size_t step_of(std::uint64_t ticks) noexcept {
    if (ticks < per_power) return static_cast<std::size_t>(ticks);
    const auto power = static_cast<std::size_t>(std::bit_width(ticks)) - 5;
    const auto step = power * per_power + static_cast<std::size_t>(ticks >> power);
    return step < steps ? step : steps - 1;
  }

  static double middle_of(std::size_t step) noexcept {
    if (step < per_power) return static_cast<double>(step);
    const auto power = step / per_power - 1;
    const auto from = static_cast<double>((step - power * per_power) << power);
    return from + static_cast<double>((std::uint64_t{1} << power) - 1) / 2;
  }

 private:
  std::array<std::uint32_t, steps> counts_{};
  std::uint64_t calls_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t most_ = 0;
};

}  // namespace heapwright::replay
