// SPDX-License-Identifier: MIT
// A replay in which every thread runs as fast as it can, or with the program's gaps between calls, and waits
// only for the blocks it needs: a block is allocated before it is freed, by whichever thread, and threads
// start and are joined where the recording did. Each call is timed: this order measures time, not memory. CPU
// time excludes what other processes of the machine took, and the CPU time of waiting is known. With gaps it
// is not reported, because these are spent spinning as well.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "figures/mapped_array.hpp"
#include "figures/process_figures.hpp"
#include "figures/report.hpp"
#include "replay/call_times.hpp"
#include "replay/clocked_calls.hpp"
#include "replay/due_times.hpp"
#include "replay/operation_times.hpp"
#include "replay/stage.hpp"

namespace heapwright::replay {

class DependencyOrder {
 public:
  // is_dry: everything but the heap calls and the touching; such a run measures the replay's own cost. kept:
  // also receives the times of all operations. due: when operations begin; null: as soon as possible. Both
  // outlive the order.
  DependencyOrder(Stage& stage, bool is_dry, OperationTimes* kept = nullptr, DueTimes* due = nullptr);

  void run();
  void report(figures::Report& report) const;

 private:
  enum Group : std::size_t { allocating, moving, releasing, group_count };

  struct LaneTimes {
    std::array<CallTimes, group_count> calls;
    std::uint64_t touch_ticks = 0;
    std::uint64_t waiting_cpu_ns = 0;
    std::uint64_t earlier_cpu_ns = 0;  // of the lane's thread before it is measured
    OperationTime* first = nullptr;    // of the lane's operations, if times are kept
    OperationTime* next = nullptr;     // the next one of these
    std::uint64_t behind_ticks = 0;    // end of its last call
    ClockedCalls clocked;
  };
  struct Entry {
    DependencyOrder* order;
    std::uint32_t lane;
  };
  static void* enter(void* entry);

  void run_lane(std::uint32_t lane);
  void control(const Operation& operation, LaneTimes& times);
  void join(std::uint32_t lane, LaneTimes& times);
  void begin_measuring_lane(LaneTimes& times);
  void perform(const Operation& operation, LaneTimes& times);
  void perform_clocked(const Operation& operation, Slot& slot, LaneTimes& times);

  Stage& stage_;
  bool is_dry_;
  DueTimes* due_;
  figures::MappedArray<Entry> entries_;
  figures::MappedArray<LaneTimes> times_;
  std::uint64_t main_start_cpu_ns_ = 0;
  std::uint64_t clock_ticks_ = 0;  // cost of two clock readings
  double ns_per_tick_ = 1;
  std::uint64_t elapsed_ns_ = 0;
  std::uint64_t cpu_ns_ = 0;
  std::uint64_t faults_ = 0;
  figures::Switches switches_;
};

}  // namespace heapwright::replay
