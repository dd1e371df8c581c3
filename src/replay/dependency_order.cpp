// SPDX-License-Identifier: MIT
#include "replay/dependency_order.hpp"

#include <sched.h>

#include <algorithm>
#include <array>

#include "figures/process_figures.hpp"
#include "platform/clock.hpp"
#include "platform/pause.hpp"

namespace heapwright::replay {
namespace {

constexpr int looks = 200;

constexpr std::uint32_t has_ended = 1;  // state word of a lane

// Returns the CPU time of the wait, if that is worth reading.
std::uint64_t await_value(const std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept {
  for (int look = 0; look < looks; ++look) {
    if (word.load(std::memory_order_acquire) == value) return 0;
    platform::pause();
  }
  const auto begin_ns = figures::thread_cpu_ns();
  while (word.load(std::memory_order_acquire) != value) sched_yield();
  return figures::thread_cpu_ns() - begin_ns;
}

// A program usually reads a block just before it frees it: a list's next node, a string's length. Without
// that, the free would pay for the cache miss that the program's own code had. Blocks that are freed by
// another thread or at exit were not read. A zero-sized block may not be read.
void look_at(const Operation& release, const void* block) noexcept {
  if (block != nullptr && release.size != 0) (void)*static_cast<const volatile char*>(block);
}

// The median of many: on some processors one of twenty pairs of readings is a single tick apart, the others
// 26.
std::uint64_t usual_clock_ticks() noexcept {
  std::array<std::uint64_t, 1001> found;
  for (auto& ticks : found) {
    const auto begin = platform::read_ticks(true);
    ticks = platform::read_ticks(true) - begin;
  }
  const auto middle = found.begin() + found.size() / 2;
  std::nth_element(found.begin(), middle, found.end());
  return *middle;
}

}  // namespace

DependencyOrder::DependencyOrder(Stage& stage, bool is_dry, OperationTimes* kept, DueTimes* due)
    : stage_(stage),
      is_dry_(is_dry),
      due_(due),
      entries_(stage.lane_count()),
      times_(stage.lane_count()),
      clock_ticks_(usual_clock_ticks()) {
  for (std::uint32_t lane = 0; lane < stage.lane_count(); ++lane) {
    entries_[lane] = {this, lane};
    const bool clocks_all = kept != nullptr || due != nullptr;
    times_[lane].clocked = {clocks_all ? 0 : stage.plan().header().operations, lane};
    if (kept != nullptr) times_[lane].first = times_[lane].next = kept->of_lane(lane);
  }
}

void DependencyOrder::run() {
  const auto main_lane = stage_.plan().header().main_lane;
  const auto start_faults = figures::minor_faults();
  const auto start_switches = figures::process_switches();
  const auto start_cpu_ns = figures::process_cpu_ns();
  main_start_cpu_ns_ = figures::thread_cpu_ns();
  const auto start_ticks = platform::read_ticks(true);
  const auto start_ns = figures::now_ns();
  if (due_ != nullptr) due_->begin_whole();
  run_lane(main_lane);
  for (std::uint32_t lane = 0; lane < stage_.lane_count(); ++lane) {
    if (lane == main_lane || stage_.lane(lane).thread == pthread_t{}) continue;  // or already joined
    join(lane, times_[main_lane]);
  }
  elapsed_ns_ = figures::now_ns() - start_ns;
  const auto elapsed_ticks = platform::read_ticks(true) - start_ticks;
  cpu_ns_ = figures::process_cpu_ns() - start_cpu_ns;
  faults_ = figures::minor_faults() - start_faults;
  const auto switches = figures::process_switches();
  switches_ = {switches.voluntary - start_switches.voluntary,
               switches.involuntary - start_switches.involuntary};
  ns_per_tick_ =
      static_cast<double>(elapsed_ns_) / static_cast<double>(std::max<std::uint64_t>(elapsed_ticks, 1));
}

void* DependencyOrder::enter(void* entry) {
  const auto& own = *static_cast<Entry*>(entry);
  own.order->run_lane(own.lane);
  own.order->stage_.lane(own.lane).word.store(has_ended, std::memory_order_release);
  return nullptr;
}

void DependencyOrder::run_lane(std::uint32_t lane) {
  stage_.enter(lane);
  auto& operations = stage_.lane(lane).operations;
  auto& times = times_[lane];
  while (!operations.is_at_end()) {
    const Operation& operation = operations.next();
    if (due_ != nullptr) due_->await_next(lane, times.behind_ticks);
    if (operation.is_control()) {
      control(operation, times);
    } else {
      perform(operation, times);
    }
    if (times.next != nullptr) ++times.next;
  }
}

void DependencyOrder::control(const Operation& operation, LaneTimes& times) {
  if (operation.kind == take_mark) return;
  if (operation.kind == begin_measuring) return begin_measuring_lane(times);
  if (operation.kind == start_thread && operation.slot < entries_.size()) {
    stage_.start(operation.slot, enter, &entries_[operation.slot]);
  } else if (operation.slot < entries_.size()) {
    join(operation.slot, times);
  } else {
    refuse_damaged();
  }
}

// A thread that waits with gaps sleeps: spinning would take a processor from the others for the whole run.
void DependencyOrder::join(std::uint32_t lane, LaneTimes& times) {
  if (due_ == nullptr) times.waiting_cpu_ns += await_value(stage_.lane(lane).word, has_ended);
  stage_.join(lane);
}

void DependencyOrder::begin_measuring_lane(LaneTimes& times) {
  const bool is_main = &times == &times_[stage_.plan().header().main_lane];
  times.calls = {};
  std::fill(times.first, times.next, OperationTime{});  // of blocks from before a window
  times.touch_ticks = 0;
  times.waiting_cpu_ns = 0;
  times.earlier_cpu_ns = figures::thread_cpu_ns() - (is_main ? main_start_cpu_ns_ : 0);
  if (due_ != nullptr) due_->begin_lane();
}

void DependencyOrder::perform(const Operation& operation, LaneTimes& times) {
  if (has_no_block(operation)) return is_dry_ ? void() : call_without_block(operation);
  Slot& slot = stage_.slot_of(operation);
  times.waiting_cpu_ns += await_value(slot.generation, operation.generation);
  if (!is_dry_ && !operation.made() && !operation.is_left_out()) look_at(operation, slot.block);
  if (times.clocked.next()) {
    perform_clocked(operation, slot, times);
  } else if (!is_dry_) {
    call_heap(operation, slot);
    if (operation.makes()) touch(operation, slot);
  }
  slot.generation.store(generation_after(operation), std::memory_order_release);
}

void DependencyOrder::perform_clocked(const Operation& operation, Slot& slot, LaneTimes& times) {
  const auto begin = platform::read_ticks(true);
  if (!is_dry_) call_heap(operation, slot);
  const auto end = platform::read_ticks(true);
  const auto ticks = end - begin - std::min(end - begin, clock_ticks_);
  // The clock is read even for calls that a change leaves out: the dry run's readings are subtracted from
  // both.
  const bool is_made = operation.made();
  const auto group = operation.moves() ? moving : is_made ? allocating : releasing;
  times.calls[group].add(ticks);
  times.behind_ticks = end;
  std::uint64_t touch_ticks = 0;
  if (is_made) {
    if (!is_dry_ && operation.makes()) touch(operation, slot);
    times.behind_ticks = platform::read_ticks(true);
    touch_ticks = times.behind_ticks - end;
    touch_ticks -= std::min(touch_ticks, clock_ticks_);
    times.touch_ticks += touch_ticks;
  }
  if (times.next != nullptr) times.next->fold(ticks, touch_ticks);
}

void DependencyOrder::report(figures::Report& report) const {
  figures::MappedArray<LaneTimes> kept(1);  // too large for a stack
  LaneTimes& all = kept[0];
  for (std::uint32_t lane = 0; lane < times_.size(); ++lane) {
    const LaneTimes& times = times_[lane];
    all.waiting_cpu_ns += times.waiting_cpu_ns;
    all.earlier_cpu_ns += times.earlier_cpu_ns;
    if (lane == stage_.plan().header().background_lane) continue;  // nothing waits for its calls
    for (std::size_t group = 0; group < group_count; ++group) all.calls[group].add(times.calls[group]);
    all.touch_ticks += times.touch_ticks;
  }
  const auto in_ns = [&](auto ticks) { return static_cast<double>(ticks) * ns_per_tick_; };
  report.figure("allocate_ns", in_ns(all.calls[allocating].sum()));
  report.figure("realloc_ns", in_ns(all.calls[moving].sum()));
  report.figure("free_ns", in_ns(all.calls[releasing].sum()));
  for (std::size_t group = 1; group < group_count; ++group) all.calls[0].add(all.calls[group]);
  const CallTimes& calls = all.calls[0];
  report.figure("calls", static_cast<double>(calls.calls()));
  report.figure("calls_ns", in_ns(calls.sum()));
  report.figure("touch_ns", in_ns(all.touch_ticks));
  report.figure("p50_ns", in_ns(calls.at(0.5)));
  report.figure("p99_ns", in_ns(calls.at(0.99)));
  report.figure("p999_ns", in_ns(calls.at(0.999)));
  report.figure("max_ns", in_ns(calls.most()));
  report.figure("clock_ns", in_ns(clock_ticks_));
  report.figure("elapsed_ns", static_cast<double>(elapsed_ns_));
  if (due_ != nullptr) {
    report.figure("late_calls", static_cast<double>(due_->late()));
  } else {
    const auto left_out_ns = all.waiting_cpu_ns + all.earlier_cpu_ns;
    report.figure("cpu_ns", static_cast<double>(cpu_ns_ - std::min(cpu_ns_, left_out_ns)));
    report.figure("waiting_cpu_ns", static_cast<double>(all.waiting_cpu_ns));
  }
  report.figure("ns_per_tick", ns_per_tick_);
  report.figure("faults", static_cast<double>(faults_));
  report.figure("voluntary_switches", static_cast<double>(switches_.voluntary));
  report.figure("involuntary_switches", static_cast<double>(switches_.involuntary));
}

}  // namespace heapwright::replay
