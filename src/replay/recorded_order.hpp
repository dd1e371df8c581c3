// SPDX-License-Identifier: MIT
// A replay in exactly the recorded order: one thread works at a time, and hands over to the one whose call
// was next. Slow where threads take turns often, but the allocator sees what it saw: for memory, not for
// time.
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

// All of the heap: private pages that belong to no file, without the replay's own.
class RecordedOrder {
 public:
  // idle_ns: how long to wait after the last call before the memory is read once more.
  // pace: the recording's time, times this, is what the marks wait for; 0: they do not. For allocators that
  // give memory back by the clock.
  RecordedOrder(Stage& stage, std::uint64_t idle_ns, double pace);

  // What is done at a mark, while all threads stand still; resident_bytes: of the heap.
  using AtMark = void (*)(Stage& stage, std::uint64_t resident_bytes);
  void at_mark(std::uint32_t mark, AtMark act) noexcept {
    act_at_ = mark;
    act_ = act;
  }

  // Each block is checked to be usable (block_marks.hpp), for a third more of the processor's time. Not where
  // a change serves blocks. Before run().
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
  Stretch<Turn> turns_;  // of the thread that has the turn, as what follows
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
