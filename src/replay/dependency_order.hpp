// SPDX-License-Identifier: MIT
// A replay in which every thread goes on as fast as it can, or with the gaps that the program had between its
// calls, and waits only for the block that it needs: made before it is given back, whoever does it, and
// threads begun and joined where the recording did. Each call is timed: for time, not for memory. CPU time
// leaves out what the other processes of the machine took, and that of waiting is known; with gaps it is not
// told, since these are waited for on the processor as well.
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
  // is_dry: everything but the heap calls and the touching. What such a run takes is the replay's own.
  // kept: where the times of all operations go as well. due: when operations begin; null: as soon as they
  // can. Both outlive the order.
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
    OperationTime* first = nullptr;    // of the lane's operations, when times are kept
    OperationTime* next = nullptr;     // of them, the one that is due
    std::uint64_t behind_ticks = 0;    // the end of its last call
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
  std::uint64_t clock_ticks_ = 0;  // what two readings of the clock take
  double ns_per_tick_ = 1;
  std::uint64_t elapsed_ns_ = 0;
  std::uint64_t cpu_ns_ = 0;
  std::uint64_t faults_ = 0;
  figures::Switches switches_;
};

}  // namespace heapwright::replay
