// SPDX-License-Identifier: MIT
// The processes that recorded processes say they start, and what became of them: every start ends as a trace,
// as a process that made no heap call, or as one that was not recorded, with the reason.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collect/process_ids.hpp"
#include "collect/process_watch.hpp"
#include "session/layout.hpp"

namespace heapwright::collect {

// A process without a trace.
struct UnrecordedProcess {
  std::uint32_t process_id = 0;  // 0: not known
  std::uint32_t parent_process_id = 0;
  std::string program;  // as given to exec; empty for a forked child, which has its parent's program
  std::string reason;
  bool made_no_call = false;  // so there is nothing to record
};

class StartedProcesses {
 public:
  // `library` is the recorder's path.
  StartedProcesses(ProcessIds& ids, std::uint64_t session_inode, std::string library);
  ~StartedProcesses();

  // Reads the notes written since the last call. Rescans other PID namespaces.
  void take(session::Control& control, std::uint64_t now_ns);
  // A process image now has a trace; `start_ticks` as in its block.
  void set_recorded(std::uint32_t process_id, std::uint64_t start_ticks);
  // Looks for processes that have ended; true if there are any. The next end_gone() gives these up: in
  // between, the caller looks for their traces.
  bool look(session::Control& control, std::uint64_t now_ns);
  void end_gone();
  // Whether the process has executed an image that has no trace; still known after end_gone().
  bool has_left_its_image(std::uint32_t process_id) const;
  // And whether that image may still make its first heap call.
  bool is_between_images(std::uint32_t process_id, std::uint64_t now_ns) const;
  // Whether a live process may still get a trace.
  bool any_may_be_recorded(session::Control& control, std::uint64_t now_ns);

  // Live processes are reported in their present state.
  void finish(session::Control& control, std::uint64_t now_ns);
  const std::vector<UnrecordedProcess>& unrecorded() const noexcept { return unrecorded_; }
  // The images that `process_id` has started or become and that cannot be recorded, up to now, as stored in
  // trace::Metadata.
  std::vector<std::string> unrecorded_of(std::uint32_t process_id, bool has_next_image) const;
  // Beyond the listed ones.
  std::uint64_t more_unrecorded() const noexcept { return more_unrecorded_; }

 private:
  struct StartNote {
    std::uint32_t number;
    std::uint32_t process_id;
    std::uint32_t parent;
    std::uint32_t kind;
    std::uint64_t ticks;
    std::uint32_t user_id;
    std::uint32_t refusal;
    bool has_address_limit;
    std::string program;
  };
  // A process whose current image has no trace (yet).
  struct Process {
    std::unique_ptr<ProcessWatch> watch;
    bool is_gone = false;
    std::uint64_t seen_ns = 0;
    std::uint32_t parent = 0;
    std::uint64_t forked_ticks = 0;  // 0: no note of a fork, or recorded since
    std::uint64_t exec_ticks = 0;    // 0: no note of an exec, or its image is recorded
    std::uint32_t user_id = 0;
    std::uint32_t refusal = 0;
    bool has_address_limit = false;
    std::string program;  // of the exec
  };
  // For every process id: the last recorded image, the last failed exec, and the last exec to an image
  // without a trace.
  struct Past {
    std::uint64_t image_ticks = 0;
    std::uint64_t failed_ticks = 0;
    std::uint64_t left_ticks = 0;
  };

  StartNote read(const session::StartEntry& entry, std::uint32_t number, std::uint32_t process_id);
  void add(const StartNote& note, std::uint64_t now_ns);
  void add_refusal(const StartNote& note, std::uint64_t now_ns);
  Process& open(std::uint32_t process_id, std::uint32_t parent, std::uint64_t now_ns);
  void close_if_settled(std::uint32_t process_id);
  void forget_claims(session::Control& control, bool all, std::uint64_t now_ns);
  void end(std::uint32_t process_id, const Process& process, bool is_alive);
  void list(UnrecordedProcess process);
  std::string why_not(std::uint32_t process_id, const Process& process) const;

  ProcessIds& ids_;
  std::uint64_t session_inode_;
  std::string library_;
  std::map<std::uint32_t, Process> open_;  // by process id
  std::map<std::uint32_t, Past> past_;     // by process id
  std::vector<UnrecordedProcess> unrecorded_;
  std::uint64_t more_unrecorded_ = 0;
  std::uint32_t seen_note_count_ = 0;
  std::uint64_t next_claims_look_ns_ = 0;
  std::uint64_t claims_left_since_ns_ = 0;  // by processes that have died; 0: none
};

}  // namespace heapwright::collect
