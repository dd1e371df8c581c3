// SPDX-License-Identifier: MIT
// length: one process image, from its first lane to the end of its file
#include "collect/process_recording.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "collect/conditions.hpp"
#include "collect/live_heap.hpp"
#include "collect/recording_notes.hpp"
#include "collect/session_text.hpp"
#include "trace/reader.hpp"
#include "tracee/stopped_process.hpp"

namespace heapwright::collect {

using session::Lane;
using session::ProcessBlock;

namespace {

constexpr char snapshot_failed[] = "snapshot_failed\t";  // before the reason
constexpr std::uint64_t oldest_event_ns = 1'000'000'000;
// A chunk is begun for a lane once its ring holds this fraction; fewer slots wait in the ring, which is
// allocated anyway.
constexpr std::uint64_t least_fraction = 8;
constexpr std::uint64_t write_interval_ns = 100'000'000;
constexpr std::uint64_t first_name_pause_ns = 10'000'000;
// A trace reader accepts 2^21 threads. A process with more than this many loses their names and events; the
// drop counter shows it.
constexpr std::uint32_t most_threads = 1U << 20;
constexpr int final_passes = 8;

// The collector's own pages, except the rings and tables shared with the program.
std::uint64_t own_resident_bytes() {
  ProcessWatch self(static_cast<std::uint32_t>(getpid()));
  MemoryReading reading;
  return self.read_memory(reading) ? reading.anonymous_bytes + reading.file_bytes : 0;
}

std::uint32_t mean_ns(std::uint64_t ticks, std::uint64_t samples, const TickConversion& clock) {
  if (samples == 0) return 0;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(clock.length_ns(ticks / samples), 0xffffffffU));
}

}  // namespace

ProcessRecording::ProcessRecording(RecordingContext& context, ProcessBlock& block, const ProcessName& name,
                                   std::string path)
    : context_(context),
      block_(block),
      name_(name),
      watch_(name.process_id, name.is_elsewhere),
      file_(std::move(path), context.options.replace_existing, context.output_descriptor),
      definitions_(block, context.clock.conversion()),
      perf_map_(name.process_id, block.process_id, name.is_elsewhere,
                static_cast<std::time_t>(context.clock.start_unix_ns() / 1'000'000'000)),
      metadata_(describe()),
      scanner_(watch_.memory_folder(), block, context.clock, context.options.residency && !watch_.is_gone()),
      snapshots_(context.options.snapshots, block, context.clock, file_, snapshot_source()) {
  file_.write(metadata_);
  leave_out_switches();
  note_trace_path();
  look_at_code(context_.clock.now_ns());
  processor_.begin(watch_, name.is_first_image, context.clock.now_ns());
  const bool is_file = context.output_descriptor < 0;
  if (context.options.room_bytes != 0 && is_file) roller_.emplace(file_.path(), context.options.room_bytes);
}

// Those before a process that began while calls were recorded: of its own run nothing is missing.
void ProcessRecording::leave_out_switches() {
  const std::vector<trace::Switch>& switches = context_.switches.all();
  if (name_.is_attached || switches.empty() || !context_.switches.is_on()) return;
  if (context_.clock.conversion().since_epoch_ns(block_.start_ticks) < switches.back().time_ns) return;
  switches_before_ = switches_written_ = switches.size();
}

// For those who ask for a snapshot.
void ProcessRecording::note_trace_path() {
  char* const path = realpath(file_.path().c_str(), nullptr);
  if (path != nullptr) std::string_view(path).copy(block_.trace_path, sizeof block_.trace_path - 1);
  free(path);
}

trace::Metadata ProcessRecording::describe() const {
  const Options& options = context_.options;
  trace::Metadata metadata;
  metadata.program = text_of(block_.executable);
  metadata.command = options.keep_arguments ? command_line() : started_as(block_);
  metadata.host = context_.host;
  metadata.allocator = text_of(block_.allocator);
  metadata.recorder_version = HEAPWRIGHT_VERSION;
  metadata.process_id = name_.process_id;
  metadata.parent_process_id = name_.parent_process_id;
  metadata.is_fork_child = block_.is_fork_child != 0;
  metadata.start_unix_ns = context_.clock.start_unix_ns();
  metadata.page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  metadata.sample_mean_bytes = options.sample_mean_bytes;
  metadata.durations_recorded = options.durations && options.sample_mean_bytes == 0;
  metadata.free_stacks_recorded = options.free_stacks;
  if (name_.is_attached) metadata.notes = context_.notes;
  metadata.conditions = conditions_of(name_.process_id, options.keep_settings);
  const bool is_part = name_.is_attached && !options.is_whole_run;
  if (is_part) metadata.conditions.emplace_back(trace::attached_condition);
  if (options.patches) metadata.conditions.emplace_back(trace::patched_condition);
  for (const std::string& name : has_agent() ? context_.beside : std::vector<std::string>{}) {
    metadata.conditions.push_back(trace::beside_condition + name);
  }
  const KernelEvents* kernel_events = context_.kernel_events;
  const std::string state = kernel_events != nullptr ? kernel_events->state() : "off";
  metadata.conditions.push_back("kernel_events\t" + state);
  return metadata;
}

std::string ProcessRecording::command_line() const {
  std::string text = watch_.command_line();
  // Already gone; but the arguments of the started program are known.
  if (text.empty() && name_.process_id == context_.program_process_id) {
    for (const std::string& word : context_.options.command) text += (text.empty() ? "" : " ") + word;
  }
  return text.empty() ? started_as(block_) : text;
}

// Whether its calls come from an agent, and not from a preloaded recorder.
bool ProcessRecording::has_agent() const noexcept {
  return name_.is_attached || block_.is_fork_child == session::forked_with_agent;
}

// The kernel has the thread's id in our PID namespace. 0: it has ended before that was looked up.
std::unique_ptr<LaneDrain> ProcessRecording::drain_of(Lane& lane, std::uint32_t lane_index) {
  const std::uint32_t id = context_.kernel_events == nullptr ? 0 : watch_.thread_here(lane.thread_id);
  return std::make_unique<LaneDrain>(lane, session::ring_slots_of(lane_index), context_.encoders,
                                     id == 0 ? nullptr : context_.kernel_events, id);
}

std::uint64_t ProcessRecording::waiting_events() const noexcept {
  std::uint64_t events = 0;
  for (const LaneOwner& owner : lanes_) {
    if (owner.drain != nullptr) events += owner.drain->count() + owner.drain->waiting_slots();
  }
  return events;
}

bool ProcessRecording::has_half_full_lane() const noexcept {
  for (const LaneOwner& owner : lanes_) {
    if (owner.drain != nullptr && owner.drain->is_half_full()) return true;
  }
  return false;
}

DrainResult ProcessRecording::drain() {
  const std::uint64_t now_ns = context_.clock.now_ns();
  const std::uint32_t lane_count =
      std::min(block_.lane_count.load(std::memory_order_acquire), session::max_lanes);
  if (lanes_.size() < lane_count) lanes_.resize(lane_count);
  DrainResult result;
  for (std::uint32_t index = 0; index < lanes_.size(); ++index) {
    LaneOwner& owner = lanes_[index];
    Lane& lane = block_.lanes[index];
    // Only drain() frees lanes, so an owner that changed without it means that the program overwrote the
    // lane; the old owner's events end here.
    if (owner.drain != nullptr && lane.generation.load(std::memory_order_relaxed) != owner.generation) {
      write_chunk(owner);
      end_thread(owner, lane, now_ns);
    }
    if (owner.drain == nullptr) {
      if (!adopt(index, now_ns)) continue;
      result.has_thread_change = true;
    }
    drain_lane(owner, now_ns, result);
    if (lane.state.load(std::memory_order_relaxed) != session::lane_live) {
      result.has_thread_change |= release_if_ended(owner, lane, now_ns);
    }
  }
  return result;
}

// Takes over a lane that a thread has claimed; false if none has.
bool ProcessRecording::adopt(std::uint32_t lane_index, std::uint64_t now_ns) {
  Lane& lane = block_.lanes[lane_index];
  const std::uint32_t state = lane.state.load(std::memory_order_acquire);
  if (state != session::lane_live && state != session::lane_exiting) return false;
  LaneOwner& owner = lanes_[lane_index];
  owner.drain = drain_of(lane, lane_index);
  owner.generation = lane.generation.load(std::memory_order_relaxed);
  owner.thread = trace::Thread{};
  owner.thread.index = thread_count_++;
  owner.thread.thread_id = lane.thread_id;
  owner.thread.stack_address = lane.stack_address;
  owner.thread.first_ns = std::min(context_.clock.conversion().since_epoch_ns(lane.first_ticks), now_ns);
  owner.name_pause_ns = first_name_pause_ns;
  refresh_name(owner, now_ns);
  pending_threads_.push_back(owner.thread);
  return true;
}

void ProcessRecording::drain_lane(LaneOwner& owner, std::uint64_t now_ns, DrainResult& result) {
  LaneDrain& drain = *owner.drain;
  drain.look(now_ns);
  const std::uint64_t waiting = drain.waiting_slots();
  const std::uint64_t ring = drain.ring_slots();
  result.fullest_slots = std::max(result.fullest_slots, waiting * (session::lane_ring_slots / ring));
  if (drain.chunk() == nullptr) {
    if (waiting < ring / (context_.encoders.has_room() ? least_fraction : 2)) return;
    if (!context_.encoders.has_room()) write_stalest_chunk();
    owners_with_chunk_.push_back(static_cast<std::uint32_t>(&owner - lanes_.data()));
  }
  owner.last_use = ++uses_;
  result.slots += waiting;
  drain.take(definitions_, context_.clock);
  if (drain.is_chunk_full() || context_.encoders.is_over()) write_chunk(owner);
}

// The thread that has been idle longest is the last to fill its chunk.
void ProcessRecording::write_stalest_chunk() {
  const auto stalest = std::min_element(
      owners_with_chunk_.begin(), owners_with_chunk_.end(),
      [this](std::uint32_t a, std::uint32_t b) { return lanes_[a].last_use < lanes_[b].last_use; });
  if (stalest != owners_with_chunk_.end()) write_chunk(lanes_[*stalest]);
}

// An exiting thread may write until the kernel reports that it is gone.
bool ProcessRecording::release_if_ended(LaneOwner& owner, Lane& lane, std::uint64_t now_ns) {
  if (watch_.has_thread(lane.thread_id)) return false;
  write_lane(owner);
  end_thread(owner, lane, now_ns);
  lane.state.store(session::lane_unused, std::memory_order_release);
  return true;
}

void ProcessRecording::end_thread(LaneOwner& owner, Lane& lane, std::uint64_t exit_ns) {
  owner.thread.exit_ns = exit_ns;
  update_thread(owner, lane);
  pending_threads_.push_back(owner.thread);
  dropped_by_ended_threads_ += owner.thread.dropped;
  damaged_slots_ += owner.drain->damaged_slots();
  self_cost_.allocation_ticks += lane.self_allocation_ticks.load(std::memory_order_relaxed);
  self_cost_.allocation_samples += lane.self_allocation_samples.load(std::memory_order_relaxed);
  self_cost_.release_ticks += lane.self_release_ticks.load(std::memory_order_relaxed);
  self_cost_.release_samples += lane.self_release_samples.load(std::memory_order_relaxed);
  owner.drain.reset();
}

// In an attached process, nothing reports the end of a thread.
void ProcessRecording::look_for_ended_threads() {
  for (LaneOwner& owner : lanes_) {
    if (owner.drain == nullptr) continue;
    Lane& lane = block_.lanes[&owner - lanes_.data()];
    std::uint32_t expected = session::lane_live;
    if (!watch_.has_thread(lane.thread_id)) {
      lane.state.compare_exchange_strong(expected, session::lane_exiting, std::memory_order_release);
    }
  }
}

void ProcessRecording::write_chunk(LaneOwner& owner) {
  if (owner.drain->chunk() != nullptr) {
    last_event_ns_ = std::max(last_event_ns_, owner.drain->chunk()->last_ns());
  }
  if (owner.thread.index < most_threads) file_.write_events(owner.thread.index, *owner.drain, definitions_);
  owner.drain->end_chunk();
  std::erase(owners_with_chunk_, static_cast<std::uint32_t>(&owner - lanes_.data()));
}

// Writes what the lane holds now; if that fills the chunk, the rest goes into a second one.
void ProcessRecording::write_lane(LaneOwner& owner) {
  static_assert(session::lane_ring_slots <= trace::max_events_per_chunk);
  for (int chunk = 0; chunk < 2; ++chunk) {
    owner.drain->take(definitions_, context_.clock);
    const bool was_full = owner.drain->is_chunk_full();
    write_chunk(owner);
    if (!was_full) return;
  }
}

void ProcessRecording::update_thread(LaneOwner& owner, const Lane& lane) {
  trace::Thread& thread = owner.thread;
  const bool is_kept = thread.index < most_threads;
  const std::uint64_t lost = lane.dropped_reentrant.load(std::memory_order_relaxed) +
                             lane.dropped_full.load(std::memory_order_relaxed);
  thread.events = is_kept ? owner.drain->events() : 0;
  thread.dropped = lost + (is_kept ? 0 : owner.drain->events());
  thread.waited_ns = context_.clock.conversion().length_ns(lane.waited_ticks.load(std::memory_order_relaxed));
}

void ProcessRecording::refresh_name(LaneOwner& owner, std::uint64_t now_ns) {
  std::string name = watch_.thread_name(static_cast<std::uint32_t>(owner.thread.thread_id));
  if (!name.empty()) owner.thread.name = std::move(name);
  owner.next_name_ns = now_ns + owner.name_pause_ns;
  owner.name_pause_ns *= 8;
}

void ProcessRecording::keep_up(std::uint64_t memory_interval_ns, std::uint64_t live_processes) {
  const std::uint64_t now_ns = context_.clock.now_ns();
  // The last sample must be taken at exit: an older one may show memory that the program has freed since.
  if (scanner_.note_exit()) {
    memory_.hurry();
    watch_.add_code_files(code_files_);
    processor_.hurry();
    take_last_snapshot();
  }
  memory_.sample(watch_, table_bytes(), block_.recorder_private_bytes.load(std::memory_order_relaxed), now_ns,
                 memory_interval_ns);
  snapshots_.step(memory_.resident_bytes());
  if (memory_.has_new_filter(block_.seccomp_at_start) &&
      block_.is_confined.load(std::memory_order_relaxed) == 0) {
    block_.is_confined.fetch_add(1, std::memory_order_relaxed);
  }
  processor_.sample(watch_, context_.kernel_events, name_.process_id, now_ns);
  scanner_.begin_if_due(watch_, file_, file_.events() + waiting_events(), live_processes);
  if (now_ns < next_write_ns_) return;
  next_write_ns_ = now_ns + write_interval_ns;
  if (context_.options.process != 0) look_for_ended_threads();
  definitions_.read_modules(true);
  look_at_code(now_ns);
  for (LaneOwner& owner : lanes_) {
    if (owner.drain == nullptr) continue;
    const std::uint64_t waiting_since_ns = owner.drain->waiting_since_ns();
    if (waiting_since_ns != 0 && now_ns - waiting_since_ns >= oldest_event_ns) write_lane(owner);
    if (now_ns < owner.next_name_ns) continue;
    refresh_name(owner, now_ns);
    update_thread(owner, block_.lanes[&owner - lanes_.data()]);
    pending_threads_.push_back(owner.thread);
  }
  write_pending();
}

void ProcessRecording::take_last_snapshot() {
  if (context_.options.snapshots.at_end && !watch_.is_gone()) snapshots_.take_last();
}

SnapshotSource ProcessRecording::snapshot_source() {
  return {name_.process_id, [this] { return write_calls(); },
          [this] {
            const bool is_start_seen = !name_.is_attached || context_.options.is_whole_run;
            const bool is_from_start = is_start_seen && block_.is_fork_child == 0;
            const bool is_whole = context_.options.sample_mean_bytes == 0;
            return is_whole && is_from_start && context_.switches.all().size() == switches_before_ &&
                   context_.switches.is_on() && dropped() == 0;
          },
          context_.options.unaligned_pointers, context_.options.runs_during_snapshots};
}

std::string ProcessRecording::write_calls() {
  if (context_.options.sample_mean_bytes != 0 && name_.is_attached && !context_.options.is_whole_run) {
    return "a sampled recording of a process that ran already does not have every block";
  }
  if (context_.output_descriptor >= 0) return "the recording is not an ordinary file";
  for (int pass = 0; pass < final_passes; ++pass) {
    if (drain().slots == 0) break;
  }
  definitions_.read_modules(true);
  write_waiting();
  return file_.is_failed() ? "the recording cannot be written" : "";
}

// Libraries that make no call of malloc may have an allocator inside.
void ProcessRecording::look_at_code(std::uint64_t now_ns) {
  constexpr std::uint64_t interval_ns = 1'000'000'000;
  if (now_ns < next_code_ns_) return;
  next_code_ns_ = now_ns + interval_ns;
  if (!name_.is_elsewhere) watch_.add_code_files(code_files_);
}

void ProcessRecording::write_waiting() {
  for (LaneOwner& owner : lanes_) {
    if (owner.drain != nullptr) write_lane(owner);
  }
  write_pending();
}

void ProcessRecording::roll(bool has_room) {
  if (!roller_) return;
  if (roller_->is_due(file_.bytes())) {
    const std::uint64_t now_ns = context_.clock.now_ns();
    write_waiting();  // a block may be dropped only together with its free: both are in the file by now
    if (!file_.is_failed()) roller_->begin(file_.bytes(), now_ns);
  }
  if (snapshots_.is_scanning()) return;  // it reads the file that would be replaced
  if (!roller_->is_done() && (has_room || !roller_->is_under_way())) return;
  write_pending();
  if (std::optional<RolledTrace> rolled = roller_->finish(file_.bytes())) switch_to(*rolled);
}

void ProcessRecording::switch_to(RolledTrace& rolled) {
  for (LaneOwner& owner : lanes_) {
    if (owner.drain == nullptr) continue;
    owner.thread.index = rolled.number_of(owner.thread.index);
    owner.drain->restart_numbering(rolled.thread_events()[owner.thread.index]);
  }
  thread_count_ = static_cast<std::uint32_t>(rolled.thread_events().size());
  metadata_.forgotten_before_ns = rolled.forgotten_before_ns();
  metadata_.forgotten_events = rolled.forgotten_events();
  memory_.restart();
  file_.switch_to(rolled.take_writer(), rolled.events());
}

void ProcessRecording::write_pending() {
  file_.write_definitions(definitions_);
  std::erase_if(pending_threads_, [](const trace::Thread& thread) { return thread.index >= most_threads; });
  file_.write(pending_threads_);
  file_.write(memory_.pending);
  file_.write(processor_.pending);
  if (context_.kernel_events != nullptr) {
    file_.write(context_.kernel_events->take_refaults_of(name_.process_id));
  }
  file_.write(std::span(context_.switches.all()).subspan(switches_written_));
  switches_written_ = context_.switches.all().size();
  pending_threads_.clear();
  memory_.pending.clear();
  processor_.pending.clear();
}

// The most memory that the used parts of tables and rings can hold.
std::uint64_t ProcessRecording::table_bytes() const noexcept {
  constexpr std::uint64_t page_bytes = 4096;
  const auto pages = [](std::uint64_t entries, std::uint64_t most_bytes) {
    return std::min(entries * page_bytes, most_bytes);
  };
  const std::uint32_t modules =
      std::min(block_.module_count.load(std::memory_order_relaxed), session::max_modules);
  std::uint64_t bytes = 2 * page_bytes + modules * sizeof(session::ModuleEntry);
  const std::uint32_t pcs = block_.pc_count.load(std::memory_order_relaxed);
  bytes += pages(pcs, sizeof block_.pcs) + pages(pcs, sizeof block_.pc_modules);
  bytes += pages(block_.node_count.load(std::memory_order_relaxed), sizeof block_.nodes);
  for (std::uint32_t index = 0; index < lanes_.size(); ++index) {
    bytes += offsetof(Lane, ring) + session::ring_slots_of(index) * sizeof(session::RawEvent);
  }
  return bytes;
}

std::uint64_t ProcessRecording::dropped() const noexcept {
  return dropped_by_ended_threads_ + damaged_slots_ +
         block_.dropped_without_lane.load(std::memory_order_relaxed) +
         block_.unseen_calls.load(std::memory_order_relaxed);
}

// What is known of the recording only at its end.
void ProcessRecording::complete_metadata() {
  const TickConversion& clock = context_.clock.conversion();
  metadata_.self_cost_allocation_ns =
      mean_ns(self_cost_.allocation_ticks, self_cost_.allocation_samples, clock);
  metadata_.self_cost_release_ns = mean_ns(self_cost_.release_ticks, self_cost_.release_samples, clock);
  metadata_.allocator = text_of(block_.allocator);
  metadata_.children_left_alone = block_.children_left_alone.load(std::memory_order_relaxed);
  metadata_.notes = name_.is_attached ? context_.notes : std::vector<std::string>{};
  if (context_.kernel_events != nullptr && context_.kernel_events->lost() != 0) {
    metadata_.conditions.push_back("kernel_events_lost\t" + std::to_string(context_.kernel_events->lost()));
  }
  for (std::string& note : notes_of(block_, context_.options.stacks, damaged_slots_)) {
    metadata_.notes.push_back(std::move(note));
  }
  for (const std::string& reason : snapshots_.failures()) {
    metadata_.conditions.push_back(std::string(snapshot_failed) + reason);
  }
  if (context_.options.snapshots.at_end && !snapshots_.has_taken_last()) {
    metadata_.conditions.push_back(std::string(snapshot_failed) + "the program did not end by exit()");
  }
  UnseenAllocators::Found found = context_.unseen_allocators.of(block_, code_files_, metadata_.conditions);
  metadata_.unseen = std::move(found.unseen);
  if (!found.runtime.empty()) metadata_.conditions.push_back(trace::runtime_condition + found.runtime);
  for (std::string& note : found.notes) metadata_.notes.push_back(std::move(note));
  for (std::string& line : unseen_of(block_)) metadata_.unseen.push_back(std::move(line));
  if (has_agent()) {
    metadata_.unseen.insert(metadata_.unseen.end(), context_.unseen.begin(), context_.unseen.end());
  }
}

// Only now: runtimes write their maps late, and say late what was replaced.
void ProcessRecording::write_code_names() {
  std::string problem;
  file_.write(perf_map_.names_of(definitions_.loose_frames, problem));
  if (!problem.empty()) metadata_.notes.push_back(std::move(problem));
}

FileSummary ProcessRecording::finish(trace::EndReason reason, std::int32_t status, std::uint64_t end_ns) {
  scanner_.give_up();
  if (roller_) roller_->give_up();
  for (int pass = 0; pass < final_passes; ++pass) {
    if (drain().slots == 0) break;
  }
  definitions_.read_modules(true);
  for (LaneOwner& owner : lanes_) {
    if (owner.drain == nullptr) continue;
    write_lane(owner);
    end_thread(owner, block_.lanes[&owner - lanes_.data()], 0);
  }
  if (context_.kernel_events != nullptr) context_.kernel_events->catch_up();
  // After exec, the next image has begun to use the same clock.
  if (reason != trace::EndReason::replaced) processor_.hurry();
  processor_.sample(watch_, context_.kernel_events, name_.process_id, std::max(end_ns, last_event_ns_));
  write_pending();
  snapshots_.finish();
  complete_metadata();
  write_code_names();
  file_.write(metadata_);
  if (context_.kernel_events != nullptr) context_.kernel_events->forget_process(name_.process_id);

  FileSummary summary;
  summary.end.reason = file_.is_failed() ? trace::EndReason::write_failed : reason;
  summary.end.status = file_.is_failed() ? file_.error_number() : status;
  summary.end.time_ns = std::max(end_ns, last_event_ns_);
  summary.end.events = file_.events();
  summary.end.dropped = dropped();
  summary.end.recorder_peak_bytes = memory_.recorder_peak_bytes() + own_resident_bytes();
  file_.finish(summary.end);
  summary.path = file_.path();
  summary.program = metadata_.program;
  summary.process_id = name_.process_id;
  summary.parent_process_id = metadata_.parent_process_id;
  summary.is_fork_child = block_.is_fork_child != 0;
  summary.start_ns = context_.clock.conversion().since_epoch_ns(block_.start_ticks);
  summary.bytes = file_.bytes();
  summary.threads = thread_count_;
  summary.error_number = file_.error_number();
  summary.notes = metadata_.notes;
  summary.unseen = metadata_.unseen;
  return summary;
}

}  // namespace heapwright::collect
