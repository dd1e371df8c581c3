// SPDX-License-Identifier: MIT
// Drains the session while the program and its children run, and finishes the trace of each process that
// ends.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collect/attached_process.hpp"
#include "collect/control_file.hpp"
#include "collect/messages.hpp"
#include "collect/options.hpp"
#include "collect/output_names.hpp"
#include "collect/process_ids.hpp"
#include "collect/process_recording.hpp"
#include "collect/session_memory.hpp"
#include "collect/size_forecast.hpp"
#include "collect/started_processes.hpp"
#include "collect/switch_history.hpp"
#include "collect/tick_clock.hpp"

namespace heapwright::collect {

class Collector {
 public:
  // Initializes the session's control page; the clock must be calibrated.
  Collector(const Options& options, const TickClock& clock, SessionMemory& session, OutputNames names,
            const std::string& library, RecordingContext context);
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  // Returns the wait status of `program`, a child of ours, when it and all processes recorded with it have
  // ended, or the recording has.
  int run(pid_t program);
  // For an attached process: calls are recorded from begin_attached() on. run_to_end() returns when the
  // process, the recording or the attacher has ended. `attached` must outlive this.
  void begin_attached(AttachedProcess& attached);
  void run_to_end();

  const std::vector<FileSummary>& files() const noexcept { return files_; }
  const StartedProcesses& started() const noexcept { return started_; }

 private:
  struct LiveProcess {
    std::uint32_t block_index = 0;
    session::ProcessBlock* block = nullptr;
    std::unique_ptr<ProcessRecording> recording;
    // This process id is known to belong to a process that maps the session.
    bool is_verified = true;
    bool is_over = false;
    bool has_next_image = false;  // with a trace
  };

  DrainResult drain();
  void discover();
  void adopt(std::uint32_t block_index);
  bool is_attached_process(std::uint32_t process_id) const noexcept;
  void drop_images_before(std::uint32_t process_id) const;
  void keep_up();
  void read_control_file(std::uint64_t now_ns);
  void obey(ControlWish wish);
  void check_limits(std::uint64_t now_ns);
  std::uint64_t expected_bytes() const;
  bool exceeds_max_size();
  bool exceeds_room(ProcessRecording& recording) const;
  void look_at_program();
  void end_if_over(LiveProcess& process);
  void end_detached(LiveProcess& process);
  bool is_over();
  void look_at_starts();
  void end_processes();
  void say_waiting();
  void end_process(LiveProcess& process, trace::EndReason reason, std::int32_t status, std::uint64_t end_ns);
  void stop(trace::EndReason reason, std::int32_t status);
  void scan_on();
  void sleep(const DrainResult& result);
  bool has_work_waiting() const;
  int wait_for_program();

  const Options& options_;
  const TickClock& clock_;
  SessionMemory& session_;
  OutputNames names_;
  RecordingContext context_;
  Messages messages_;
  std::optional<ControlFile> control_file_;
  ProcessIds ids_;
  StartedProcesses started_;
  std::vector<LiveProcess> live_;
  std::vector<bool> is_adopted_;  // by block index
  std::vector<FileSummary> files_;
  pid_t program_ = 0;
  int program_status_ = 0;  // valid if program_has_ended_
  bool program_has_ended_ = false;
  AttachedProcess* attached_ = nullptr;  // its process is program_; nullptr: the program was started by us
  bool has_said_waiting_ = false;
  bool is_stopped_ = false;  // permanently: a limit, a full disk, Ctrl-C
  std::uint64_t run_start_ns_ = 0;
  SizeForecast finished_sizes_;
  std::uint64_t last_pass_slots_ = 0;
  std::uint32_t seen_hint_ = 0;
  std::uint32_t seen_note_count_ = 0;
  std::uint64_t program_ended_ns_ = 0;
  std::uint64_t next_wait_check_ns_ = 0;
  std::uint64_t next_discovery_ns_ = 0;
  std::uint64_t next_keep_up_ns_ = 0;
  std::uint64_t next_control_ns_ = 0;
  std::uint64_t pause_ns_ = 0;
};

}  // namespace heapwright::collect
