// SPDX-License-Identifier: MIT
// A replay in exactly the recorded order: one thread runs at a time and hands over to the thread whose call
// was next. Slow if threads take turns often, but the allocator sees the same sequence: this order measures
// memory, not time.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "figures/mapped_array.hpp"
#include "figures/report.hpp"
#include "replay/block_marks.hpp"
#include "replay/stage.hpp"
#include "replay/system_calls.hpp"

namespace heapwright::replay {

// All of the heap: private anonymous pages, without the replay's own.
class RecordedOrder {
 public:
  // idle_ns: how long to wait after the last call before a final reading of the memory. pace: marks wait for
  // the recording's time multiplied by this; 0: they do not wait. For allocators that return memory to the
  // system by the clock.
  RecordedOrder(Stage& stage, std::uint64_t idle_ns, double pace);

  // Called at a mark, while no other thread runs; resident_bytes: of the heap.
  using AtMark = void (*)(Stage& stage, std::uint64_t resident_bytes);
  void at_mark(std::uint32_t mark, AtMark act) noexcept {
    act_at_ = mark;
    act_ = act;
  }

  // Checks that each block is usable (block_marks.hpp), for a third more CPU time. Not available if a change
  // serves blocks. Call before run().
  void check_blocks();

  void run();
  void report(figures::Report& report) const;

 private:
  struct Entry {
    RecordedOrder* order;
    std::uint32_t lane;
  };
  static void* enter(void* entry);

  // Runs a lane that has the turn, or waits for it.
  void run_lane(std::uint32_t lane);
  // Performs the lane's operations of this turn.
  void take_turn(std::uint32_t lane);
  void perform(const Operation& operation);
  void control(const Operation& operation);
  void take_reading(std::uint32_t mark);
  void begin_next_turn();
  void give_turn(std::uint32_t lane, std::uint32_t word) noexcept;
  void await_end(std::uint32_t lane) noexcept;
  void take_last_readings();
  std::uint64_t heap_bytes(std::uint64_t resident_bytes) const noexcept;

  Stage& stage_;
  std::uint64_t idle_ns_;
  double pace_;
  std::uint64_t start_ns_ = 0;
  figures::MappedArray<Entry> entries_;
  figures::MappedArray<Turn> turn_window_;
  figures::MappedArray<double> mark_bytes_;
  Stretch<Turn> turns_;  // read by the thread that has the turn, as is what follows
  Turn turn_;
  bool is_over_ = false;
  std::uint32_t act_at_ = 0;
  AtMark act_ = nullptr;
  std::uint64_t start_faults_ = 0;
  std::uint64_t faults_ = 0;
  SystemCalls system_calls_;
  std::optional<BlockMarks> block_marks_;
  std::uint64_t elapsed_ns_ = 0;
  figures::AnonymousMemory last_;
  std::uint64_t idle_bytes_ = 0;
  std::uint64_t own_bytes_ = 0;
};

}  // namespace heapwright::replay
