// SPDX-License-Identifier: MIT
// Lets a plan's operations begin when the program's calls did: with its gaps between them, at its own rate or
// another one. What comes late begins at once; the operations after it keep their moments.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "figures/mapped_array.hpp"
#include "replay/plan_file.hpp"

namespace heapwright::replay {

// Threads: one for each lane.
class DueTimes {
 public:
  // rate: how many times as fast as the program. Ends the process when the plan has no times. Takes 20 ms, in
  // which it compares clocks. The calling thread, and those that it begins, wake from a sleep as soon as they
  // can.
  DueTimes(const PlanFile& plan, double rate);

  // The program begins now. Of a window it does when the last of its lanes has made what lived before.
  void begin_whole() noexcept;
  void begin_lane() noexcept;

  // Waits until the lane's next operation is due. behind_ticks: a moment that has passed, of the clock of
  // platform::read_ticks().
  void await_next(std::uint32_t lane, std::uint64_t behind_ticks) noexcept;
  // Operations that began later than they were due by more than 50 µs. Precondition: no thread runs a lane.
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
