// SPDX-License-Identifier: MIT
#include "replay/recorded_order.hpp"

#include <time.h>

#include <algorithm>

#include "figures/process_figures.hpp"
#include "platform/futex.hpp"

namespace heapwright::replay {
namespace {

constexpr std::size_t turn_window = 16384;
constexpr std::uint64_t longest_sleep_ns = 1'000'000'000;

// States of a lane's word.
constexpr std::uint32_t waits = 0;
constexpr std::uint32_t has_turn = 1;
constexpr std::uint32_t sleeps = 2;
constexpr std::uint32_t may_end = 3;

// Until the word is neither of the two waiting states. A lane sleeps at once, for 6 us a hand-over: one that
// spins takes a processor from the one that has the turn, or from other programs (17 threads on two busy
// processors: 100 us with spinning).
void await_change(std::atomic<std::uint32_t>& word) noexcept {
  std::uint32_t expected = waits;
  if (!word.compare_exchange_strong(expected, sleeps)) return;
  while (word.load(std::memory_order_acquire) == sleeps) platform::futex_wait(word, sleeps, longest_sleep_ns);
}

void sleep_for(std::uint64_t time_ns) noexcept {
  timespec time{static_cast<time_t>(time_ns / 1'000'000'000), static_cast<long>(time_ns % 1'000'000'000)};
  nanosleep(&time, nullptr);
}

}  // namespace

RecordedOrder::RecordedOrder(Stage& stage, std::uint64_t idle_ns, double pace)
    : stage_(stage),
      idle_ns_(idle_ns),
      pace_(pace),
      entries_(stage.lane_count()),
      turn_window_(turn_window),
      mark_bytes_(stage.plan().header().marks),
      system_calls_(stage.lane_count()) {
  const Header& header = stage.plan().header();
  turns_.open(stage.plan(), header.turns_offset, header.turns, turn_window_.begin(), turn_window);
  for (std::uint32_t lane = 0; lane < stage.lane_count(); ++lane) entries_[lane] = {this, lane};
  own_bytes_ = stage.grown_bytes();
}

void RecordedOrder::check_blocks() {
  const Header& header = stage_.plan().header();
  if (header.part_count != 0) return;
  block_marks_.emplace(header.slots);
  own_bytes_ = stage_.grown_bytes();
}

void RecordedOrder::run() {
  const auto main_lane = stage_.plan().header().main_lane;
  start_faults_ = figures::minor_faults();
  start_ns_ = figures::now_ns();
  begin_next_turn();
  if (!is_over_ && turn_.lane != main_lane) refuse_damaged();
  stage_.lane(main_lane).word.store(has_turn);
  run_lane(main_lane);
  elapsed_ns_ -= std::min(start_ns_, elapsed_ns_);
  for (std::uint32_t lane = 0; lane < stage_.lane_count(); ++lane) {
    if (lane != main_lane && stage_.lane(lane).thread != pthread_t{}) stage_.join(lane);
  }
}

void* RecordedOrder::enter(void* entry) {
  const auto& own = *static_cast<Entry*>(entry);
  own.order->run_lane(own.lane);
  return nullptr;
}

void RecordedOrder::run_lane(std::uint32_t lane) {
  stage_.enter(lane);
  system_calls_.enter(lane);
  const bool ends = stage_.plan().lanes()[lane].ends != 0;
  while (true) {
    await_change(stage_.lane(lane).word);
    if (stage_.lane(lane).word.load(std::memory_order_acquire) == may_end) return;
    stage_.lane(lane).word.store(waits, std::memory_order_release);
    while (!is_over_ && turn_.lane == lane) take_turn(lane);
    if (is_over_) {
      take_last_readings();
      for (std::uint32_t other = 0; other < stage_.lane_count(); ++other) give_turn(other, may_end);
      return;
    }
    // Read before the turn is handed over: from then on this lane may be joined.
    const bool is_done = stage_.lane(lane).operations.is_at_end();
    give_turn(turn_.lane, has_turn);
    if (is_done && ends) return;
  }
}

void RecordedOrder::take_turn(std::uint32_t lane) {
  auto& operations = stage_.lane(lane).operations;
  for (std::uint32_t done = 0; done < turn_.count; ++done) {
    if (operations.is_at_end()) refuse_damaged();
    perform(operations.next());
  }
  begin_next_turn();
}

void RecordedOrder::perform(const Operation& operation) {
  if (operation.is_control()) return control(operation);
  if (has_no_block(operation)) {
    SystemCalls::begin();
    call_without_block(operation);
    return SystemCalls::end();
  }
  Slot& slot = stage_.slot_of(operation);
  if (slot.generation.load(std::memory_order_relaxed) != operation.generation) refuse_damaged();
  if (block_marks_) block_marks_->before(operation, slot);
  SystemCalls::begin();
  call_heap(operation, slot);
  SystemCalls::end();
  if (operation.makes()) touch(operation, slot);
  if (block_marks_) block_marks_->after(operation, slot);
  slot.generation.store(generation_after(operation), std::memory_order_relaxed);
}

void RecordedOrder::control(const Operation& operation) {
  if (operation.kind == take_mark) {
    take_reading(operation.slot);
  } else if (operation.kind == begin_measuring) {
    start_faults_ = figures::minor_faults();
    system_calls_.reset();
  } else if (operation.kind == start_thread && operation.slot < entries_.size()) {
    stage_.start(operation.slot, enter, &entries_[operation.slot]);
  } else {
    // A lane that is not finished would never end.
    const bool has_ended = operation.slot < entries_.size() &&
                           stage_.plan().lanes()[operation.slot].ends != 0 &&
                           stage_.lane(operation.slot).operations.is_at_end();
    if (!has_ended) refuse_damaged();
    stage_.join(operation.slot);
  }
}

void RecordedOrder::take_reading(std::uint32_t mark) {
  if (mark >= mark_bytes_.size()) refuse_damaged();
  const auto& marks = stage_.plan().marks();
  const auto recorded_ns = marks[mark].time_ns - std::min(marks[mark].time_ns, marks[0].time_ns);
  const auto due_ns = static_cast<std::uint64_t>(static_cast<double>(recorded_ns) * pace_);
  const auto now_ns = figures::now_ns() - start_ns_;
  if (now_ns < due_ns) sleep_for(due_ns - now_ns);
  const auto bytes = heap_bytes(figures::anonymous_memory().resident_bytes);
  // Comparable with the recording: the allocator does not affect the program's own mappings.
  mark_bytes_[mark] = static_cast<double>(bytes + marks[mark].mapped_bytes);
  if (act_ != nullptr && mark == act_at_) act_(stage_, bytes);
}

void RecordedOrder::begin_next_turn() {
  is_over_ = turns_.is_at_end();
  if (is_over_) return;
  turn_ = turns_.next();
  if (turn_.lane >= stage_.lane_count()) refuse_damaged();
}

void RecordedOrder::give_turn(std::uint32_t lane, std::uint32_t word) noexcept {
  auto& own = stage_.lane(lane).word;
  if (own.exchange(word, std::memory_order_acq_rel) == sleeps) platform::futex_wake(own);
}

void RecordedOrder::take_last_readings() {
  elapsed_ns_ = figures::now_ns();
  last_ = figures::anonymous_memory();
  faults_ = figures::minor_faults() - start_faults_;
  idle_bytes_ = last_.resident_bytes;
  if (idle_ns_ == 0) return;
  sleep_for(idle_ns_);
  idle_bytes_ = figures::anonymous_memory().resident_bytes;
}

std::uint64_t RecordedOrder::heap_bytes(std::uint64_t resident_bytes) const noexcept {
  return resident_bytes - std::min(resident_bytes, own_bytes_);
}

void RecordedOrder::report(figures::Report& report) const {
  const auto& marks = stage_.plan().marks();
  // The recording's peak is that of its samples, so this one is too; a short peak between two samples is
  // reported separately.
  const auto highest = static_cast<double>(heap_bytes(last_.peak_bytes));
  auto peak = mark_bytes_.size() == 0 ? highest : 0;
  double area = 0;
  for (std::size_t i = 0; i < mark_bytes_.size(); ++i) {
    peak = std::max(peak, mark_bytes_[i]);
    const auto next_ns = i + 1 < marks.size() ? marks[i + 1].time_ns : stage_.plan().header().end_ns;
    area += mark_bytes_[i] * static_cast<double>(next_ns - std::min(next_ns, marks[i].time_ns));
  }
  const auto from_ns = marks.size() == 0 ? 0 : marks[0].time_ns;
  const auto end_ns = std::max(stage_.plan().header().end_ns, from_ns + 1);
  const auto mapped = marks.size() == 0 ? 0 : marks[marks.size() - 1].mapped_bytes;
  const auto end = static_cast<double>(heap_bytes(last_.resident_bytes) + mapped);
  report.figure("peak_bytes", std::max(peak, end));
  report.figure("highest_bytes", highest);
  report.figure("mean_bytes", area > 0 ? area / static_cast<double>(end_ns - from_ns) : end);
  report.figure("end_bytes", end);
  report.figure("idle_bytes", static_cast<double>(heap_bytes(idle_bytes_) + mapped));
  report.figure("faults", static_cast<double>(faults_));
  report.figure("elapsed_ns", static_cast<double>(elapsed_ns_));
  system_calls_.report(report);
  report.series("mark_bytes", mark_bytes_.first(mark_bytes_.size()));
}

}  // namespace heapwright::replay
