// SPDX-License-Identifier: MIT
// length: all steps of the planner change the same few tables
#include "replay/make_plan.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "order/decode_ahead.hpp"
#include "order/merge.hpp"
#include "order/schedule.hpp"
#include "replay/block_table.hpp"
#include "replay/change_marker.hpp"
#include "replay/lane_ends.hpp"
#include "replay/own_mappings.hpp"
#include "replay/phase_ends.hpp"
#include "replay/plan_writer.hpp"
#include "replay/program_time.hpp"
#include "replay/rows.hpp"
#include "replay/slot_supply.hpp"
#include "replay/touched_pages.hpp"
#include "replay/window.hpp"
#include "trace/damage.hpp"

namespace heapwright::replay {
namespace {

using trace::EventKind;

constexpr unsigned most_workers = 2;
constexpr std::uint64_t ns_per_ms = 1'000'000;
// Prefetch distance: a memory access takes as long as this many rows.
constexpr std::size_t rows_ahead = 12;
constexpr std::uint64_t events_worth_a_thread = 100'000;
constexpr std::uint64_t merge_bytes = std::uint64_t{256} << 20U;

class Planner {
  // A block removed from its address.
  struct Taken {
    LiveBlock block;
    TouchedPages::Large large;  // if it is one
  };

 public:
  Planner(const order::Source& source, const order::Schedule& schedule, const std::string& path,
          const ChangeRequest& change, const Window& window, bool has_times)
      : window_(window),
        lanes_(schedule.thread_of_lane.size()),
        defers_frees_(change.defers_frees()),
        has_phases_(change.has_phases()),
        trim_(change.trim()),
        trim_every_ns_(trim_ < change.parts.size() ? change.parts[trim_].number * ns_per_ms : 0),
        main_lane_(main_lane_of(source, schedule)),
        marks_(choose_marks(source, window)),
        ends_(lane_ends_of(source, schedule, main_lane_)),
        touched_(source, window.from_ns),
        mappings_(source),
        slots_(lanes_ + 2),
        has_begun_(lanes_ + 2),
        moved_(lanes_ + 1),
        earlier_(lanes_ + 1),
        begin_bytes_(resident_at_begin(source)),
        writer_(path, bounds_of(schedule), marks_, has_times),
        changes_(change, lanes_ + 1, writer_, touched_),
        phase_ends_(lanes_ + 1),
        is_before_(window.from_ns > 0) {
    has_begun_[main_lane_] = true;
    current_ = main_lane_;
    header_.begin_ns = window.from_ns;
    header_.end_ns = std::min(last_ns_of(source), window.to_ns);
    if (trim_every_ns_ != 0) set_next_trim(window.from_ns);
    if (defers_frees_) header_.background_lane = lanes_ + 1;
    if (has_times) program_time_.emplace(source.metadata(), lanes_ + 2);
  }

  // duration_ns: of the call, if the row is at its end.
  void add(std::uint32_t lane, const Row& row, std::uint32_t duration_ns) {
    if (row.time_ns >= window_.to_ns) return;
    if (is_before_) {
      if (row.time_ns < window_.from_ns) return pass_by(lane, row);
      begin_window();
    }
    if (row.time_ns >= next_control_ns_) pass(row.time_ns);
    if (program_time_) set_due(lane, row, duration_ns);
    add_in_window(lane, row);
  }

  // Prefetches for one of the next rows.
  [[gnu::always_inline]] void expect(const Row& row) const noexcept {
    (is_before_ ? earlier_.table() : blocks_).expect(row.address);
  }

  Header finish(std::uint64_t damaged_chunks) {
    if (is_before_) begin_window();
    pass(window_.to_ns);
    for (std::uint32_t lane = 0; has_phases_ && lane <= lanes_; ++lane) end_phase(lane);
    free_due(UINT64_MAX);
    set_mapped();
    touched_.finish(header_.end_ns, writer_);
    changes_.finish(header_);
    header_.guessed_touched_bytes = touched_.guessed().touched_bytes;
    header_.guessed_untouched_bytes = touched_.guessed().untouched_bytes;
    header_.large_blocks = touched_.blocks();
    header_.seen_blocks = touched_.seen_blocks();
    header_.damaged_chunks = damaged_chunks;
    header_.slots = static_cast<std::uint32_t>(slots_.count());
    header_.main_lane = main_lane_;
    return writer_.finish(header_);
  }

 private:
  // The recording's first memory sample, most of which is outside of the heap.
  struct Reading {
    std::uint64_t time_ns = UINT64_MAX;
    std::uint64_t bytes = 0;
  };
  // A truncated recording has no end mark that gives it.
  static std::uint64_t last_ns_of(const order::Source& source) {
    auto last_ns = source.end().time_ns;
    for (const auto& chunk : source.event_chunks()) last_ns = std::max(last_ns, chunk.last_end_ns);
    if (!source.memory_samples().empty()) last_ns = std::max(last_ns, source.memory_samples().back().time_ns);
    return last_ns;
  }

  static Reading resident_at_begin(const order::Source& source) {
    const auto& samples = source.memory_samples();
    if (samples.empty()) return {};
    return {samples.front().time_ns, samples.front().resident_anonymous_bytes};
  }

  // A call before the window.
  void pass_by(std::uint32_t lane, const Row& row) {
    if (row.step == Step::maps || row.step == Step::unmaps) return map(row);
    if (row.step == Step::annotates) return;
    if (row.time_ns >= begin_bytes_.time_ns) leave_heap_out();
    earlier_.add(lane, row);
  }

  void leave_heap_out() {
    begin_bytes_.bytes -= std::min(begin_bytes_.bytes, earlier_.live_bytes());
    begin_bytes_.time_ns = UINT64_MAX;
  }

  // Allocates the blocks that are live at the begin of the window. The allocator's state after earlier frees
  // is unknown: there are no holes between them.
  void begin_window() {
    is_before_ = false;
    if (begin_bytes_.time_ns != UINT64_MAX) leave_heap_out();
    if (!marks_.empty()) {
      writer_.set_recorded(next_mark_, begin_bytes_.bytes);
      writer_.add(main_lane_, control(take_mark, next_mark_++));
    }
    for (const auto& setting : earlier_.settings()) add_in_window(setting.lane, setting.row);
    for (const auto& [lane, row] : earlier_.taken_moves()) {
      if (row.address == 0) continue;
      add_in_window(lane, row);
      moved_[lane] = take_block(row.address);
    }
    for (const auto& [lane, row] : earlier_.take_all()) {
      add_in_window(lane, row);
      ++header_.earlier_blocks;
      header_.earlier_bytes += row.size;
    }
    for (std::uint32_t lane = 0; lane <= lanes_; ++lane) {
      if (has_begun_[lane] && lane != main_lane_) begin_measuring_of(lane);
    }
    begin_measuring_of(main_lane_);
    changes_.begin_window();
    current_ = main_lane_;
    next_control_ns_ = 0;
  }

  void begin_measuring_of(std::uint32_t lane) {
    writer_.add(lane, control(begin_measuring, 0));
    ++header_.measured_lanes;
  }

  void set_due(std::uint32_t lane, const Row& row, std::uint32_t duration_ns) {
    if (row.step == Step::moves_from || row.step == Step::maps || row.step == Step::unmaps) return;
    writer_.set_due(program_time_->begin_of(lane, row.time_ns, duration_ns));
    if (row.step != Step::annotates) program_time_->spend(lane, row.kind);
  }

  void set_due(std::uint32_t lane, std::uint64_t time_ns) {
    if (program_time_) writer_.set_due(program_time_->begin_of(lane, time_ns, 0));
  }

  void add_in_window(std::uint32_t lane, const Row& row) {
    if (has_phases_ && row.kind != EventKind::annotation_text) end_phase(lane);
    if (row.step == Step::maps || row.step == Step::unmaps) return map(row);
    if (row.step == Step::annotates) return add_annotation(lane, row);
    if (!has_begun_[lane]) {
      has_begun_[lane] = true;
      writer_.add(main_lane_, control(start_thread, lane));
    }
    current_ = lane;  // takes the next marks
    now_ns_ = row.time_ns;
    switch (row.step) {
      case Step::makes:
        return make(lane, row, {});
      case Step::releases:
        return release(lane, row);
      case Step::moves_from:
        moved_[lane] = take_block(row.address);
        return;
      case Step::moves_to:
        return make(lane, row, moved_[lane]);
      case Step::fails:
        ++header_.failed;
        return;
      case Step::tunes:
        return add_tuning(lane, row);
      case Step::maps:
      case Step::unmaps:
      case Step::annotates:
        return;  // no block's
    }
  }

  void add_annotation(std::uint32_t lane, const Row& row) {
    phase_ends_.add(lane, row);
    if (phase_ends_.is_whole(lane)) end_phase(lane);
  }

  // Memory moved by mremap belongs to the program if it did before.
  void map(const Row& row) {
    const bool is_moved = row.kind == EventKind::mremap_;
    if (row.step == Step::unmaps) {
      moves_own_ = mappings_.unmap(row.address, row.size) && is_moved;
    } else if (!is_moved || moves_own_) {
      mappings_.map(row.address, row.size);
    }
  }

  // The first mark of a window describes the time before the window.
  void set_mapped() {
    for (std::size_t mark = window_.from_ns > 0 ? 1 : 0; mark < marks_.size(); ++mark) {
      writer_.set_mapped(mark, mappings_.resident_at(marks_[mark].time_ns));
    }
  }

  // Does nothing if the lane has no end.
  void end_phase(std::uint32_t lane) {
    if (phase_ends_.has_name(lane)) changes_.end_phase(lane, phase_ends_.take(lane));
  }

  // Upper bounds: the first lane starts and joins all others; any lane may have to take all marks, and begins
  // measuring once, and may give memory back before each mark; a call whose address was not seen to be freed
  // is two operations. A deferred free is one more, by its own thread or by the background lane.
  std::vector<PlanWriter::LaneBound> bounds_of(const order::Schedule& schedule) const {
    std::vector<PlanWriter::LaneBound> bounds(
        lanes_ + 1, {0, (trim_every_ns_ != 0 ? 2 : 1) * marks_.size() + (window_.is_part() ? 1 : 0)});
    if (defers_frees_) bounds.push_back({});
    bounds[main_lane_].operations += 2 * lanes_ + (defers_frees_ ? 1 : 0);
    for (std::size_t lane = 0; lane < lanes_; ++lane) bounds[lane].thread = schedule.thread_of_lane[lane];
    for (const auto& job : schedule.jobs) {
      const std::uint64_t events = job.chunk->count;
      bounds[job.lane].operations += (defers_frees_ ? 3 : 2) * events;
      if (defers_frees_) bounds.back().operations += events;
    }
    return bounds;
  }

  static Operation control(std::uint8_t kind, std::size_t number) {
    Operation operation;
    operation.kind = kind & 0x7fU;
    operation.slot = static_cast<std::uint32_t>(number);
    return operation;
  }

  // Takes the marks, ends the lanes, makes the due frees and reads the scans before this time.
  void pass(std::uint64_t time_ns) {
    while (true) {
      const auto mark_ns = next_mark_ < marks_.size() ? marks_[next_mark_].time_ns : UINT64_MAX;
      const auto end_ns = next_end_ < ends_.size() ? ends_[next_end_].time_ns : UINT64_MAX;
      const auto due_ns = changes_.waiting().next_ns();
      next_control_ns_ = std::min({mark_ns, end_ns, due_ns, touched_.next_ns()});
      if (next_control_ns_ == UINT64_MAX || next_control_ns_ > time_ns) return;
      if (touched_.next_ns() == next_control_ns_) {
        const auto scan_ns = touched_.next_ns();
        mappings_.see(touched_.pass(), scan_ns);
      } else if (due_ns == next_control_ns_) {
        set_due(static_cast<std::uint32_t>(lanes_ + 1), due_ns);
        free_due(due_ns);
      } else if (mark_ns <= end_ns) {
        add_mark();
      } else {
        set_due(main_lane_, end_ns);
        end_lane(ends_[next_end_++].lane);
      }
    }
  }

  void change_live(std::uint64_t before, std::uint64_t now) noexcept {
    live_bytes_ += now - before;
    if (before < TouchedPages::least_bytes) small_bytes_ -= before;
    if (now < TouchedPages::least_bytes) small_bytes_ += now;
  }

  // On multiples of the interval, whatever the window.
  void set_next_trim(std::uint64_t now_ns) noexcept {
    next_trim_ns_ = (now_ns / trim_every_ns_ + 1) * trim_every_ns_;
  }

  // Only before marks: they are where the memory is compared, and have times while no thread calls.
  void trim_before(std::uint64_t mark_ns) {
    if (mark_ns < next_trim_ns_) return;
    set_due(current_, mark_ns);
    writer_.add(current_, changes_.trim(trim_));
    set_next_trim(mark_ns);
  }

  void add_mark() {
    trim_before(marks_[next_mark_].time_ns);
    touched_.pass_mark();
    header_.small_bytes = std::max(header_.small_bytes, small_bytes_);
    writer_.add(current_, control(take_mark, next_mark_++));
  }

  // The first thread starts and joins all others, so that what the C library allocates for a thread is where
  // most programs have it. In the heap of the thread that merely had the turn, it would keep memory from
  // being returned to the system.
  void end_lane(std::uint32_t lane) {
    if (!has_begun_[lane]) return;
    changes_.waiting().take_all_of(lane, [&](const WaitingFree& free) { free_waiting(lane, free, true); });
    writer_.end_lane(lane);
    writer_.add(main_lane_, control(join_thread, lane));
    slots_.close(lane);
    current_ = main_lane_;
  }

  Taken take_block(std::uint64_t address) {
    Taken taken{blocks_.take(address), {}};
    if (taken.block.size >= TouchedPages::least_bytes) taken.large = touched_.take(address);
    return taken;
  }

  void make(std::uint32_t lane, const Row& row, const Taken& taken) {
    const LiveBlock& old = taken.block;
    if (row.size > largest_size) return fail(lane, taken);
    // Returned by the allocator although it was not freed: that free was not seen.
    if (const Taken lost = take_block(row.address); lost.block.address != 0) {
      ++header_.unseen_releases;
      free_block(lane, EventKind::free_, lost);
    }
    const bool is_moved = old.address != 0;
    if (taken.large.size != 0) touched_.settle(taken.large, row.size, row.time_ns, writer_);
    if (trace::is_realloc(row.kind) && row.step == Step::moves_to && !is_moved) ++header_.before_recording;
    const auto slot = is_moved ? old.slot : slots_.take(lane);
    Operation operation;
    operation.kind = static_cast<std::uint8_t>(row.kind) & 0x7fU;
    operation.size = row.size & largest_size;
    operation.alignment_log2 = row.alignment_log2 & 31U;
    operation.slot = slot;
    operation.generation = slots_.advance(slot, is_moved ? 2 : 1);
    if (!changes_.is_idle()) changes_.make(lane, row.stack, row.address, operation);
    if (row.size >= TouchedPages::least_bytes) set_touch(lane, row, taken.large, operation);
    writer_.add(lane, operation, row.stack);
    blocks_.put({row.address, row.size, slot, row.stack});
    change_live(old.size, row.size);
    header_.peak_live_bytes = std::max(header_.peak_live_bytes, live_bytes_);
  }

  // old: that the block takes the place of; its size is 0 if there is none.
  void set_touch(std::uint32_t lane, const Row& row, const TouchedPages::Large& old, Operation& operation) {
    const auto maker = changes_.maker_of(operation.slot, {lane, writer_.next_of(lane)});
    operation.touch = touched_.make(row.address, {.size = row.size,
                                                  .made_ns = row.time_ns,
                                                  .operation = maker.operation,
                                                  .lane = maker.lane,
                                                  .stack = row.stack,
                                                  .written_ns = old.size != 0 ? old.written_ns : row.time_ns,
                                                  .is_cleared = row.kind == EventKind::calloc_});
    if (operation.kind == serve_nothing) writer_.set_touch(maker.lane, maker.operation, operation.touch);
  }

  void fail(std::uint32_t lane, const Taken& old) {
    ++header_.failed;
    if (old.block.address != 0) free_block(lane, EventKind::free_, old);
  }

  void release(std::uint32_t lane, const Row& row) {
    const Taken taken = take_block(row.address);
    if (taken.block.address == 0) {
      ++header_.before_recording;
      return;
    }
    free_block(lane, row.kind, taken, row.alignment_log2);
  }

  void free_block(std::uint32_t lane, EventKind kind, const Taken& taken, std::uint8_t alignment_log2 = 0) {
    const LiveBlock& block = taken.block;
    if (taken.large.size != 0) touched_.settle(taken.large, taken.large.size, now_ns_, writer_);
    Operation operation;
    operation.kind = static_cast<std::uint8_t>(kind) & 0x7fU;
    operation.size = block.size & largest_size;
    operation.alignment_log2 = alignment_log2 & 31U;
    operation.slot = block.slot;
    if (defers_frees_ && changes_.is_deferred(block.slot)) return defer_free(lane, operation, block.stack);
    operation.generation = slots_.advance(block.slot, 1);
    if (!changes_.is_idle()) changes_.release(lane, operation);
    writer_.add(lane, operation, block.stack);
    slots_.give_back(lane, block.slot);
    change_live(block.size, 0);
  }

  void defer_free(std::uint32_t lane, const Operation& release, std::uint32_t stack) {
    const auto part = changes_.defer_free(lane, now_ns_, release, stack);
    Operation later = release;
    later.kind = serve_later;
    later.generation = slots_.advance(release.slot, 2);
    writer_.add(lane, later, stack);
    if (changes_.waiting().is_too_full(lane, part)) {
      changes_.waiting().take_oldest(lane, part,
                                     [&](const WaitingFree& free) { free_waiting(lane, free, true); });
    }
    next_control_ns_ = std::min(next_control_ns_, changes_.waiting().next_ns());
  }

  // By the lane itself, or by the background lane.
  void free_waiting(std::uint32_t lane, const WaitingFree& free, bool by_caller) {
    Operation operation = free.operation;
    operation.generation = slots_.advance(operation.slot, 1);
    writer_.add(lane, operation, free.stack);
    slots_.give_back(lane, operation.slot);
    change_live(operation.size, 0);
    changes_.freed(free, by_caller);
  }

  void free_due(std::uint64_t time_ns) {
    const auto background = static_cast<std::uint32_t>(lanes_ + 1);
    changes_.waiting().take_due(time_ns, [&](const WaitingFree& free) {
      if (!has_begun_[background]) writer_.add(main_lane_, control(start_thread, background));
      has_begun_[background] = true;
      free_waiting(background, free, false);
    });
  }

  // mallopt: the parameter is the slot, the value the size.
  void add_tuning(std::uint32_t lane, const Row& row) {
    Operation operation;
    operation.kind = static_cast<std::uint8_t>(row.kind) & 0x7fU;
    const bool is_option = row.kind == EventKind::mallopt_;
    operation.size = (is_option ? row.address : row.size) & largest_size;
    operation.slot = is_option ? static_cast<std::uint32_t>(row.size) : 0;
    writer_.add(lane, operation);
  }

  Window window_;
  std::size_t lanes_;  // with events
  bool defers_frees_;
  bool has_phases_;              // requested by a change
  std::size_t trim_;             // the change's part
  std::uint64_t trim_every_ns_;  // 0: never
  std::uint64_t next_trim_ns_ = UINT64_MAX;
  std::uint32_t main_lane_;
  std::vector<Mark> marks_;
  std::vector<LaneEnd> ends_;
  TouchedPages touched_;
  OwnMappings mappings_;
  bool moves_own_ = false;
  std::size_t next_mark_ = 0;
  std::size_t next_end_ = 0;
  std::uint64_t next_control_ns_ = 0;
  SlotSupply slots_;
  std::vector<bool> has_begun_;
  std::vector<Taken> moved_;  // by lane: the block its realloc has removed
  EarlierBlocks earlier_;
  Reading begin_bytes_;
  PlanWriter writer_;
  std::optional<ProgramTime> program_time_;  // if the plan has times
  ChangeMarker changes_;
  PhaseEnds phase_ends_;
  bool is_before_;
  BlockTable blocks_;
  Header header_;
  std::uint32_t current_ = 0;
  std::uint64_t now_ns_ = 0;  // of the current row
  std::uint64_t live_bytes_ = 0;
  std::uint64_t small_bytes_ = 0;  // of these, in blocks that share their pages
};

unsigned worker_count(const order::Schedule& schedule) {
  if (schedule.events < events_worth_a_thread || schedule.jobs.size() < 2) return 0;
  return std::min(std::max(std::thread::hardware_concurrency(), 1U) - 1, most_workers);
}

}  // namespace

Header make_plan(const order::Source& source, const std::string& path, const ChangeRequest& change,
                 std::uint64_t calls, bool has_times) {
  const Window window = choose_window(source, calls);
  const auto schedule = order::make_schedule(source.event_chunks(), window.to_ns);
  const auto workers = worker_count(schedule);
  const auto slice_events = schedule.slice_events(merge_bytes, 2 * sizeof(Row));
  std::vector<std::unique_ptr<RowMaker>> makers;
  for (unsigned worker = 0; worker <= workers; ++worker) {
    makers.push_back(
        std::make_unique<RowMaker>(source, slice_events, RowMaker::With{change.has_phases(), has_times}));
  }
  Planner planner(source, schedule, path, change, window, has_times);
  order::DecodeAhead<Piece> ahead(
      schedule, workers,
      [&](unsigned worker, const order::ScheduledChunk& job, std::uint32_t first_event, Piece& piece) {
        makers[worker]->make(job, first_event, piece);
      });
  order::Merge<Piece> merge(schedule, ahead);
  order::Run<Piece> run;
  while (merge.next(run)) {
    const auto& rows = run.piece->rows;
    const auto& durations_ns = run.piece->durations_ns;
    for (auto index = run.from; index < run.to; ++index) {
      if (index + rows_ahead < rows.size()) planner.expect(rows[index + rows_ahead]);
      planner.add(run.lane, rows[index], index < durations_ns.size() ? durations_ns[index] : 0);
    }
  }
  ahead.finish();
  std::uint64_t damaged_chunks = 0;
  for (const auto& maker : makers) damaged_chunks += maker->damaged_chunks();
  return planner.finish(damaged_chunks);
}

}  // namespace heapwright::replay
