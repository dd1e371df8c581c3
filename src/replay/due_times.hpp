// SPDX-License-Identifier: MIT
// Starts a plan's operations when the program's calls began: with the gaps between them, at the program's
// rate or another one. A late operation begins at once; the ones after it keep their times.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "figures/mapped_array.hpp"
#include "replay/plan_file.hpp"

namespace heapwright::replay {

// Threads: one per lane.
class DueTimes {
 public:
  // rate: speed relative to the program. Ends the process if the plan has no times. Takes 20 ms to compare
  // clocks. Also makes the calling thread, and those that it starts, wake from a sleep as soon as they can.
  DueTimes(const PlanFile& plan, double rate);

  // The program begins now. For a window, it begins when the last lane has allocated the blocks from before.
  void begin_whole() noexcept;
  void begin_lane() noexcept;

  // Waits until the lane's next operation is due. behind_ticks: a past time on the clock of
  // platform::read_ticks().
  void await_next(std::uint32_t lane, std::uint64_t behind_ticks) noexcept;
  // Operations that began more than 50 µs late. Precondition: no thread runs a lane.
  std::uint64_t late() const noexcept;

 private:
  static constexpr std::size_t window = 1024;  // times read at once

  struct alignas(64) LaneTimes {
    Stretch<std::uint64_t> due_ns;
    std::uint64_t late = 0;
    std::array<std::uint64_t, window> read;
  };
  void begin() noexcept;
  static void sleep_for(std::uint64_t time_ns) noexcept;

  const PlanFile& plan_;
  figures::MappedArray<LaneTimes> lanes_;
  double ticks_per_ns_;
  double ticks_per_program_ns_;
  std::atomic<std::uint64_t> begin_ticks_ = 0;  // 0: not yet
  std::atomic<std::uint32_t> begun_ = 0;        // lanes of a window
};

}  // namespace heapwright::replay
