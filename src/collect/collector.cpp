// SPDX-License-Identifier: MIT
// length: the rounds of one loop, best read together
#include "collect/collector.hpp"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "collect/session_text.hpp"
#include "collect/signals.hpp"
#include "platform/futex.hpp"
#include "trace/event.hpp"

namespace heapwright::collect {

using session::Control;
using session::ProcessBlock;
using trace::EndReason;

namespace {

constexpr std::uint64_t shortest_pause_ns = 500'000;
constexpr std::uint64_t longest_pause_ns = 20'000'000;
// If a process may not wake us.
constexpr std::uint64_t longest_confined_pause_ns = 1'000'000;
// Between two windows of a scan, so that a program that maps memory can take the lock.
constexpr std::uint64_t scan_pause_ns = 100'000;
constexpr std::uint64_t discovery_interval_ns = 20'000'000;
constexpr std::uint64_t keep_up_interval_ns = 2'000'000;
constexpr std::uint64_t memory_interval_ns = 10'000'000;
// Up to this many processes are polled at full pace; the pauses grow with more.
constexpr std::uint64_t processes_at_full_pace = 16;
constexpr std::uint64_t wait_check_interval_ns = 50'000'000;
constexpr std::uint64_t wait_message_ns = 2'000'000'000;
constexpr std::uint64_t unnoted_fork_ns = 1'000'000'000;
constexpr std::int32_t unknown_status = -1;

std::uint32_t flags_of(const Options& options, const TickClock& clock) {
  std::uint32_t flags = 0;
  // A sampled call takes the slow path (its code is seldom run), so its duration says nothing about other
  // calls.
  if (options.durations && options.sample_mean_bytes == 0) flags |= session::record_durations;
  if (options.follow_children) flags |= session::follow_children;
  if (options.drops_when_full) flags |= session::drop_when_full;
  if (options.stacks) flags |= session::record_stacks;
  if (!options.python) flags |= session::skip_python;
  if (options.residency) flags |= session::scan_residency;
  if (options.snapshots.at_end) flags |= session::snapshot_at_end;
  if (clock.is_tsc()) flags |= session::clock_is_tsc;
  return flags;
}

// The stack of a slow free is worth a walk: the reader will ask for the caller.
std::uint64_t free_stack_from_ticks(const Options& options, const TickClock& clock) {
  if (!options.stacks) return UINT64_MAX;
  return options.free_stacks ? 0 : clock.conversion().ticks_in(trace::slow_call_ns);
}

}  // namespace

Collector::Collector(const Options& options, const TickClock& clock, SessionMemory& session,
                     OutputNames names, const std::string& library, RecordingContext context)
    : options_(options),
      clock_(clock),
      session_(session),
      names_(std::move(names)),
      context_(std::move(context)),
      messages_(options.is_quiet),
      ids_(session.control().pid_namespace),
      started_(ids_, session.inode(), library),
      is_adopted_(session::max_processes) {
  if (!options.control_path.empty()) control_file_.emplace(options.control_path);
  Control& control = session_.control();
  control.flags = flags_of(options, clock);
  control.max_frames = options.max_frames;
  control.sample_mean_bytes = options.sample_mean_bytes;
  control.free_stack_from_ticks = free_stack_from_ticks(options, clock);
  // What an attached process did earlier is an unrecorded part of its run.
  context_.switches.begin(control, !options.starts_paused && (options.process == 0 || options.is_whole_run));
  read_control_file(0);
}

Collector::~Collector() {
  for (LiveProcess& process : live_) session_.unmap_block(process.block);
}

int Collector::run(pid_t program) {
  program_ = program;
  run_to_end();
  return wait_for_program();
}

void Collector::begin_attached(AttachedProcess& attached) {
  program_ = attached.attacher();
  attached_ = &attached;
  if (options_.starts_paused || options_.is_whole_run) return;
  context_.switches.switch_to(session_.control(), clock_, true);
}

void Collector::run_to_end() {
  run_start_ns_ = clock_.now_ns();
  while (!is_stopped_) {
    const DrainResult result = drain();
    last_pass_slots_ = result.slots;
    for (LiveProcess& process : live_) process.recording->roll(!exceeds_room(*process.recording));
    if (options_.max_size_bytes != 0 || options_.room_bytes != 0) check_limits(clock_.now_ns());
    keep_up();
    scan_on();
    if (is_over()) break;
    if (!is_stopped_) sleep(result);
  }
  started_.finish(session_.control(), clock_.now_ns());
  // No thread may wait for a reader that is gone.
  session_.control().is_closed.store(1, std::memory_order_release);
}

bool Collector::is_over() {
  if (attached_ != nullptr && !options_.follow_children) return live_.empty();
  if (!program_has_ended_ || !live_.empty()) return false;
  // A child may have started at the last moment.
  discover();
  look_at_starts();
  if (!live_.empty()) return false;
  const std::uint64_t now_ns = clock_.now_ns();
  if (now_ns < next_wait_check_ns_) return false;
  next_wait_check_ns_ = now_ns + wait_check_interval_ns;
  // Nobody notes what an attached process forks: its first heap call does.
  if (attached_ != nullptr && now_ns - program_ended_ns_ < unnoted_fork_ns) return false;
  if (!started_.any_may_be_recorded(session_.control(), now_ns)) return true;
  if (now_ns - program_ended_ns_ >= wait_message_ns) say_waiting();
  return false;
}

DrainResult Collector::drain() {
  if (context_.kernel_events != nullptr) context_.kernel_events->catch_up();
  const std::uint64_t now_ns = clock_.now_ns();
  const std::uint32_t hint = session_.control().next_process_hint.load(std::memory_order_acquire);
  const std::uint32_t note_count = session_.control().start_note_count.load(std::memory_order_acquire);
  if (note_count - seen_note_count_ >= session::max_starts / 4 || hint != seen_hint_ ||
      now_ns >= next_discovery_ns_) {
    discover();
  }
  DrainResult result;
  for (LiveProcess& process : live_) result.add(process.recording->drain());
  return result;
}

// While block indices are handed out for the first time, the hint counts the claims in order; after that a
// claim may be in any block.
void Collector::discover() {
  const std::uint32_t hint = session_.control().next_process_hint.load(std::memory_order_acquire);
  seen_hint_ = hint;
  seen_note_count_ = session_.control().start_note_count.load(std::memory_order_acquire);
  next_discovery_ns_ = clock_.now_ns() + discovery_interval_ns;
  if (!session_.show_blocks(std::min(hint, session::max_processes))) {
    messages_.say("out of address space; processes that start later are not recorded");
  }
  std::vector<std::uint32_t> claimed;
  for (std::uint32_t index = 0; index < session_.shown_blocks(); ++index) {
    if (!is_adopted_[index] && session_.state_of(index) >= session::process_live) claimed.push_back(index);
  }
  // In this order: a process that has claimed a block has already written its start note.
  started_.take(session_.control(), clock_.now_ns());
  for (const std::uint32_t index : claimed) adopt(index);
}

void Collector::adopt(std::uint32_t block_index) {
  is_adopted_[block_index] = true;
  ProcessBlock* block = session_.map_block(block_index);
  if (block == nullptr) {
    say_error("out of address space (ulimit -v): the recording stops here, the program goes on");
    stop(EndReason::write_failed, ENOMEM);
    return;
  }
  ProcessName name{ids_.here(block->pid_namespace, block->process_id),
                   ids_.here(block->pid_namespace, block->parent_process_id),
                   ids_.is_elsewhere(block->pid_namespace)};
  started_.set_recorded(name.process_id, block->start_ticks);
  // The same process with a new image: the old image's memory is gone.
  for (LiveProcess& other : live_) {
    if (other.recording->process_id() == name.process_id) {
      other.has_next_image = true;
      end_process(other, EndReason::replaced, 0, clock_.now_ns());
    }
  }
  std::erase_if(live_, [](const LiveProcess& process) { return process.is_over; });
  name.is_first_image = std::none_of(files_.begin(), files_.end(),
                                     [&](const auto& file) { return file.process_id == name.process_id; });
  name.is_attached = attached_ != nullptr && name.is_first_image && is_attached_process(name.process_id);
  if (name.is_attached) name.is_first_image = false;
  if (options_.room_bytes != 0) drop_images_before(name.process_id);
  const std::string path = names_.choose(name.process_id, started_as(*block));
  if (path.empty()) {
    say_error("'" + options_.output_pattern + "' takes one recording, " + started_as(*block) +
              " is the second: the recording stops, the program goes on; name a file with --output");
    stop(EndReason::write_failed, EEXIST);
    return;
  }
  auto recording = std::make_unique<ProcessRecording>(context_, *block, name, path);
  ProcessWatch& watch = recording->watch();
  const bool is_verified = watch.is_gone() || watch.maps_inode(session_.inode());
  live_.push_back({block_index, block, std::move(recording), is_verified, false});
}

bool Collector::is_attached_process(std::uint32_t process_id) const noexcept {
  return attached_ != nullptr && process_id == static_cast<std::uint32_t>(options_.process);
}

// A process that calls exec endlessly would fill the folder.
void Collector::drop_images_before(std::uint32_t process_id) const {
  for (const FileSummary& file : files_) {
    const bool is_earlier = file.process_id == process_id && file.end.reason == EndReason::replaced;
    if (is_earlier) unlink(file.path.c_str());
  }
}

void Collector::keep_up() {
  const std::uint64_t now_ns = clock_.now_ns();
  const bool is_scan_wanted =
      std::any_of(live_.begin(), live_.end(), [](const LiveProcess& p) { return p.recording->wants_scan(); });
  if (now_ns < next_keep_up_ns_ && !is_scan_wanted && !consume_child_ended()) return;
  const std::uint64_t crowd = 1 + live_.size() / processes_at_full_pace;
  next_keep_up_ns_ = now_ns + keep_up_interval_ns * crowd;
  for (LiveProcess& process : live_) process.recording->keep_up(memory_interval_ns * crowd, live_.size());
  look_at_program();
  end_processes();
  read_control_file(now_ns);
  check_limits(now_ns);
}

void Collector::read_control_file(std::uint64_t now_ns) {
  Control& control = session_.control();
  if (control_file_ && now_ns >= next_control_ns_) {
    next_control_ns_ = now_ns + ControlFile::interval_ns;
    std::string complaint;
    const std::optional<ControlWish> wish = control_file_->poll(complaint);
    if (!complaint.empty()) messages_.say(complaint);
    if (wish) obey(*wish);
  }
  context_.switches.read(control, clock_);
}

void Collector::obey(ControlWish wish) {
  if (wish == ControlWish::snapshot) {
    for (LiveProcess& process : live_) {
      process.block->snapshot_requests.fetch_add(1, std::memory_order_release);
    }
    return;
  }
  const bool is_on = wish == ControlWish::start;
  context_.switches.switch_to(session_.control(), clock_, is_on);
  messages_.say(is_on ? "recording" : "recording stopped; the control file starts it again");
}

std::uint64_t Collector::expected_bytes() const {
  SizeForecast forecast = finished_sizes_;
  for (const LiveProcess& process : live_) {
    const ProcessRecording& recording = *process.recording;
    forecast.add_growing(recording.file().bytes(), recording.file().events(), recording.waiting_events());
  }
  return forecast.expected_bytes(last_pass_slots_);
}

// A forecast based on few events after large tables can be a hundred times too high. Once all pending events
// are written, the real size is known.
bool Collector::exceeds_max_size() {
  const std::uint64_t limit_bytes = options_.max_size_bytes;
  if (limit_bytes == 0 || expected_bytes() < limit_bytes) return false;
  for (const LiveProcess& process : live_) process.recording->write_waiting();
  return expected_bytes() >= limit_bytes;
}

// Each file alone: a large file must not end the recording of another.
bool Collector::exceeds_room(ProcessRecording& recording) const {
  const auto is_beyond = [&] {
    SizeForecast forecast;
    forecast.add_growing(recording.file().bytes(), recording.file().events(), recording.waiting_events());
    return forecast.expected_bytes(last_pass_slots_) >= options_.room_bytes;
  };
  if (options_.room_bytes == 0 || !is_beyond()) return false;
  recording.write_waiting();
  return is_beyond();
}

void Collector::check_limits(std::uint64_t now_ns) {
  if (is_stopped_) return;
  for (const LiveProcess& process : live_) {
    const TraceFile& file = process.recording->file();
    if (exceeds_room(*process.recording)) {
      say_error(
          "live blocks fill the size that --room allows; sampling stops here, the program goes on. "
          "Use a larger --room or --sample");
      return stop(EndReason::size_limit, 0);
    }
    if (!file.is_failed()) continue;
    say_error("cannot write '" + file.path() + "' (" + std::strerror(file.error_number()) +
              "); the recording stops here, the program goes on");
    return stop(EndReason::write_failed, file.error_number());
  }
  if (options_.duration_ns != 0 && now_ns - run_start_ns_ >= options_.duration_ns) {
    messages_.say("the time set by --duration is over; the recording stops here, the program goes on");
    return stop(EndReason::duration_limit, 0);
  }
  if (exceeds_max_size()) {
    messages_.say("the size set by --max-size is reached; the recording stops here, the program goes on");
    return stop(EndReason::size_limit, 0);
  }
  const bool is_attached = attached_ != nullptr;
  if ((program_has_ended_ || is_attached) && is_asked_to_end()) {
    messages_.say(is_attached ? "the recording stops here; the program goes on"
                              : "the recording stops here; the program's children go on");
    stop(EndReason::stopped, 0);
  }
}

void Collector::look_at_program() {
  if (program_has_ended_) return;
  siginfo_t info{};
  // Not reaped yet: its process id must not be reused before its trace ends.
  if (waitid(P_PID, static_cast<id_t>(program_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0) {
    return;
  }
  program_has_ended_ = true;
  program_ended_ns_ = clock_.now_ns();
  program_status_ = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
  stop_forwarding();
}

void Collector::end_processes() {
  // A process that is gone may have had an image that we have not seen yet.
  const bool any_is_gone = std::any_of(live_.begin(), live_.end(),
                                       [](const LiveProcess& p) { return p.recording->watch().is_gone(); });
  if (any_is_gone) discover();
  for (LiveProcess& process : live_) end_if_over(process);
  std::erase_if(live_, [](const LiveProcess& process) { return process.is_over; });
  look_at_starts();
  const bool has_children = attached_ == nullptr || options_.follow_children;
  if (program_has_ended_ && has_children && !live_.empty()) say_waiting();
}

void Collector::end_if_over(LiveProcess& process) {
  ProcessRecording& recording = *process.recording;
  const bool is_coming = started_.is_between_images(recording.process_id(), clock_.now_ns());
  if (is_coming && !recording.watch().is_gone()) return;
  if (!process.is_verified) {
    // By now its id belongs to another process, or it runs an image that is not recorded.
    end_process(process, EndReason::replaced, 0, clock_.now_ns());
    return;
  }
  // The process continues in an image without a trace, which we do not wait for.
  const bool has_left = started_.has_left_its_image(recording.process_id());
  if (has_left && !recording.watch().is_gone() && !recording.watch().maps_inode(session_.inode())) {
    end_process(process, EndReason::replaced, 0, clock_.now_ns());
    return;
  }
  if (!recording.watch().is_gone()) {
    if (program_has_ended_ && is_attached_process(recording.process_id())) end_detached(process);
    return;
  }
  const bool is_program = static_cast<pid_t>(recording.process_id()) == program_;
  if (is_program && !program_has_ended_) return;  // its status follows shortly
  if (started_.has_left_its_image(recording.process_id())) {
    end_process(process, EndReason::replaced, 0, clock_.now_ns());
    return;
  }
  const std::optional<int> status = is_program ? program_status_ : recording.watch().wait_status();
  if (!status || WIFEXITED(*status)) {
    end_process(process, EndReason::exited, status ? WEXITSTATUS(*status) : unknown_status, clock_.now_ns());
  } else {
    end_process(process, EndReason::killed, WTERMSIG(*status), clock_.now_ns());
  }
}

// The attacher ends normally when the process calls exec; otherwise it was killed.
void Collector::end_detached(LiveProcess& process) {
  attached_->detach();
  if (!attached_->detached().empty()) {
    return end_process(process, EndReason::replaced, 0, clock_.ns_at(attached_->seen_monotonic_ns()));
  }
  say_error(
      "heapwright-attach was killed: the recording stops here. The program goes on, a little slower; "
      "attach to it again to repair that");
  // Its hooks are still in place and write to this memory.
  is_stopped_ = true;
  session_.control().is_recording.store(0, std::memory_order_release);
  end_process(process, EndReason::recorder_lost, 0, clock_.now_ns());
}

void Collector::look_at_starts() {
  if (started_.look(session_.control(), clock_.now_ns())) discover();
  started_.end_gone();
}

void Collector::say_waiting() {
  if (has_said_waiting_) return;
  has_said_waiting_ = true;
  const std::string count = live_.empty() ? "" : std::to_string(live_.size()) + " of ";
  messages_.say("the program has ended; waiting for " + count + "its children (Ctrl-C ends the recording)");
}

void Collector::end_process(LiveProcess& process, EndReason reason, std::int32_t status,
                            std::uint64_t end_ns) {
  context_.switches.read(session_.control(), clock_);
  process.recording->set_unrecorded(
      started_.unrecorded_of(process.recording->process_id(), process.has_next_image));
  FileSummary summary = process.recording->finish(reason, status, end_ns);
  finished_sizes_.add_finished(summary.bytes, summary.end.events);
  files_.push_back(std::move(summary));
  process.recording.reset();
  session_.unmap_block(process.block);
  process.block = nullptr;
  process.is_over = true;
  // An unverified block may still be written to: not worth the risk.
  if (!is_stopped_ && process.is_verified) {
    session_.recycle(process.block_index);
    is_adopted_[process.block_index] = false;
  }
}

void Collector::stop(EndReason reason, std::int32_t status) {
  if (is_stopped_) return;
  is_stopped_ = true;
  for (LiveProcess& process : live_) {
    if (!process.is_over) process.recording->take_last_snapshot();
  }
  // Before the switch: up to here every call is in the trace.
  const std::uint64_t end_ns = clock_.now_ns();
  session_.control().is_recording.store(0, std::memory_order_release);
  for (LiveProcess& process : live_) {
    if (!process.is_over) end_process(process, reason, status, end_ns);
  }
  live_.clear();
}

bool Collector::has_work_waiting() const {
  return has_child_ended() ||
         session_.control().next_process_hint.load(std::memory_order_seq_cst) != seen_hint_ ||
         std::any_of(live_.begin(), live_.end(), [](const LiveProcess& p) {
           return p.recording->has_half_full_lane() || p.recording->wants_scan();
         });
}

// Scans one window for each active scan; the lanes are drained before the next.
void Collector::scan_on() {
  for (LiveProcess& process : live_) process.recording->scan_on();
}

// The pause depends on the fullest lane, so that each pass finds much to do but no thread waits for space: a
// producer that fills half of its ring wakes us.
void Collector::sleep(const DrainResult& result) {
  if (result.fullest_slots >= session::lane_ring_slots / 2) {
    pause_ns_ = shortest_pause_ns;
    return;
  }
  const bool is_busy = result.fullest_slots >= session::lane_ring_slots / 8 || result.has_thread_change;
  pause_ns_ =
      std::clamp(is_busy ? pause_ns_ / 2 : pause_ns_ + pause_ns_ / 2, shortest_pause_ns, longest_pause_ns);
  if (context_.kernel_events != nullptr) {
    pause_ns_ = std::min(pause_ns_, context_.kernel_events->longest_pause_ns());
  }
  bool is_scanning = false;
  for (const LiveProcess& process : live_) {
    if (process.recording->is_scan_urgent()) return;
    const bool is_confined = process.block->is_confined.load(std::memory_order_relaxed) != 0;
    if (is_confined) pause_ns_ = std::min(pause_ns_, longest_confined_pause_ns);
    is_scanning |= process.recording->is_scanning();
  }
  std::atomic<std::uint32_t>& word = session_.control().collector_sleeps;
  word.store(1, std::memory_order_seq_cst);
  if (!has_work_waiting()) platform::futex_wait(word, 1, is_scanning ? scan_pause_ns : pause_ns_);
  word.store(0, std::memory_order_relaxed);
}

int Collector::wait_for_program() {
  int status = 0;
  while (waitpid(program_, &status, 0) < 0) {
    if (errno != EINTR) break;
  }
  stop_forwarding();
  return status;
}

}  // namespace heapwright::collect
