// SPDX-License-Identifier: MIT
// Recording of one process image: its block in the session, its threads, its trace file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collect/encoder_pool.hpp"
#include "collect/kernel_events.hpp"
#include "collect/lane_drain.hpp"
#include "collect/memory_sampler.hpp"
#include "collect/options.hpp"
#include "collect/perf_map_file.hpp"
#include "collect/process_watch.hpp"
#include "collect/processor_sampler.hpp"
#include "collect/residency_scanner.hpp"
#include "collect/snapshot_taker.hpp"
#include "collect/stack_definitions.hpp"
#include "collect/switch_history.hpp"
#include "collect/tick_clock.hpp"
#include "collect/trace_file.hpp"
#include "collect/trace_roller.hpp"
#include "collect/unseen_allocators.hpp"
#include "session/layout.hpp"
#include "trace/records.hpp"

namespace heapwright::collect {

// Shared by all recordings of the session.
struct RecordingContext {
  const Options& options;
  const TickClock& clock;
  std::string host;
  std::uint32_t program_process_id = 0;  // of the program that the collector started
  // For the traces of that program, or of the process that is attached to and its forked children.
  std::vector<std::string> notes;
  EncoderPool encoders;
  UnseenAllocators unseen_allocators;
  SwitchHistory switches = {};
  int output_descriptor = -1;  // of an output that is not a regular file
  KernelEvents* kernel_events = nullptr;
  std::vector<std::string> unseen = {};  // calls that no trace has, for every trace
  std::vector<std::string> beside = {};  // allocators of a process that is attached to, after its first one
};

// The result for one process image, for the report.
struct FileSummary {
  std::string path;
  std::string program;
  std::uint64_t process_id = 0;
  std::uint64_t parent_process_id = 0;
  bool is_fork_child = false;  // it has its parent's image, not a fresh one
  std::uint64_t start_ns = 0;
  std::uint64_t bytes = 0;
  std::uint64_t threads = 0;
  trace::End end;
  int error_number = 0;  // of the file; 0 = whole
  std::vector<std::string> notes;
  std::vector<std::string> unseen;  // whose calls are not in the trace
};

struct DrainResult {
  std::uint64_t slots = 0;          // read from all lanes
  std::uint64_t fullest_slots = 0;  // found in one lane, scaled to a whole ring
  bool has_thread_change = false;

  void add(const DrainResult& other) noexcept {
    slots += other.slots;
    fullest_slots = fullest_slots > other.fullest_slots ? fullest_slots : other.fullest_slots;
    has_thread_change |= other.has_thread_change;
  }
};

// Its identity in our PID namespace; its block has the ids that the process itself sees.
struct ProcessName {
  std::uint32_t process_id = 0;
  std::uint32_t parent_process_id = 0;
  bool is_elsewhere = false;   // in another PID namespace
  bool is_attached = false;    // it ran before the recording
  bool is_first_image = true;  // false: the process has used CPU time before, in another image or unrecorded
};

class ProcessRecording {
 public:
  // `block` is mapped and in state process_live or later; both arguments outlive the recording.
  ProcessRecording(RecordingContext& context, session::ProcessBlock& block, const ProcessName& name,
                   std::string path);

  std::uint32_t process_id() const noexcept { return name_.process_id; }
  ProcessWatch& watch() noexcept { return watch_; }
  const TraceFile& file() const noexcept { return file_; }
  std::uint64_t waiting_events() const noexcept;
  // Whether a producer has filled half of its ring; at that point it wakes a sleeping collector.
  bool has_half_full_lane() const noexcept;

  // One pass over the lanes.
  DrainResult drain();
  // Writes what is old or has changed; must be called every few milliseconds. Processes share the time
  // allowed for scans.
  void keep_up(std::uint64_t memory_interval_ns, std::uint64_t live_processes);
  // With --room: starts to drop freed blocks when the file has grown, or switches to the new file. has_room:
  // whether there is space for events until then; otherwise the lanes wait.
  void roll(bool has_room);
  // Writes all pending events and the tables they need.
  void write_waiting();
  // Scans some of the resident pages, if a scan is active.
  void scan_on() { scanner_.step(watch_, file_); }
  bool is_scanning() const noexcept { return scanner_.is_scanning(); }
  // The program waits for the scan.
  bool is_scan_urgent() const noexcept { return scanner_.is_urgent(); }
  bool wants_scan() const { return scanner_.is_asked(context_.clock.now_ns()) || snapshots_.has_work(); }
  // Of who holds which block, if one is wanted at the end and was not yet taken. Calls must still be
  // recorded.
  void take_last_snapshot();
  // As stored in the trace (see trace::Metadata).
  void set_unrecorded(std::vector<std::string> processes) {
    metadata_.unrecorded_processes = std::move(processes);
  }
  // Drains the rest and ends the file, at `end_ns` or the last event.
  FileSummary finish(trace::EndReason reason, std::int32_t status, std::uint64_t end_ns);

 private:
  struct LaneOwner {
    std::unique_ptr<LaneDrain> drain;  // empty: the lane is unused
    trace::Thread thread;
    std::uint32_t generation = 0;
    std::uint64_t last_use = 0;  // of its chunk, for LRU
    std::uint64_t next_name_ns = 0;
    std::uint64_t name_pause_ns = 0;
  };
  struct SelfCost {
    std::uint64_t allocation_ticks = 0;
    std::uint64_t allocation_samples = 0;
    std::uint64_t release_ticks = 0;
    std::uint64_t release_samples = 0;
  };

  bool adopt(std::uint32_t lane_index, std::uint64_t now_ns);
  void drain_lane(LaneOwner& owner, std::uint64_t now_ns, DrainResult& result);
  bool release_if_ended(LaneOwner& owner, session::Lane& lane, std::uint64_t now_ns);
  void write_chunk(LaneOwner& owner);
  void write_stalest_chunk();
  void write_lane(LaneOwner& owner);
  void look_for_ended_threads();
  void update_thread(LaneOwner& owner, const session::Lane& lane);
  void end_thread(LaneOwner& owner, session::Lane& lane, std::uint64_t exit_ns);
  void switch_to(RolledTrace& rolled);
  void refresh_name(LaneOwner& owner, std::uint64_t now_ns);
  void write_pending();
  void look_at_code(std::uint64_t now_ns);
  void complete_metadata();
  void leave_out_switches();
  void note_trace_path();
  void write_code_names();
  SnapshotSource snapshot_source();
  std::string write_calls();
  std::uint64_t table_bytes() const noexcept;
  trace::Metadata describe() const;
  std::string command_line() const;
  std::uint64_t dropped() const noexcept;
  bool has_agent() const noexcept;
  std::unique_ptr<LaneDrain> drain_of(session::Lane& lane, std::uint32_t lane_index);

  RecordingContext& context_;
  session::ProcessBlock& block_;
  ProcessName name_;
  ProcessWatch watch_;
  TraceFile file_;
  StackDefinitions definitions_;
  PerfMapFile perf_map_;
  trace::Metadata metadata_;
  std::vector<LaneOwner> lanes_;
  std::vector<std::uint32_t> owners_with_chunk_;  // few: one per encoder in use
  std::uint64_t uses_ = 0;
  std::vector<trace::Thread> pending_threads_;
  std::size_t switches_before_ = 0;  // of the recording, before the process
  std::size_t switches_written_ = 0;
  MemorySampler memory_;
  ProcessorSampler processor_;
  ResidencyScanner scanner_;
  std::optional<TraceRoller> roller_;  // with --room
  std::uint64_t next_write_ns_ = 0;
  std::uint64_t next_code_ns_ = 0;
  std::set<std::string> code_files_;  // that it has or had mapped
  std::uint32_t thread_count_ = 0;
  std::uint64_t dropped_by_ended_threads_ = 0;
  std::uint64_t damaged_slots_ = 0;
  SelfCost self_cost_;
  std::uint64_t last_event_ns_ = 0;
  SnapshotTaker snapshots_;
};

}  // namespace heapwright::collect
