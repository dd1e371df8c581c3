// SPDX-License-Identifier: MIT
// length: the notes' kinds and reasons, best read together
#include "collect/started_processes.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <span>
#include <utility>

#include "collect/preload_check.hpp"
#include "collect/session_text.hpp"

namespace heapwright::collect {

using session::Control;
using session::StartEntry;

namespace {

// Longer lists add nothing; further processes are only counted.
constexpr std::size_t most_listed = 10'000;
// From an exec to the new image's first heap call, on a busy machine.
constexpr std::uint64_t start_patience_ns = 1'000'000'000;
constexpr std::uint64_t claims_interval_ns = 500'000'000;

// While entries are handed out for the first time, an entry has the number of its claim; reading further ones
// would allocate memory for them.
std::span<StartEntry> used_entries(Control& control) {
  const std::uint32_t claims = control.next_start_number.load(std::memory_order_acquire);
  return std::span(control.starts).first(std::min(claims, session::max_starts));
}

bool is_gone(std::uint32_t process_id) {
  return process_id == 0 || process_id > INT_MAX ||
         (kill(static_cast<pid_t>(process_id), 0) != 0 && errno == ESRCH);
}

}  // namespace

StartedProcesses::StartedProcesses(ProcessIds& ids, std::uint64_t session_inode, std::string library)
    : ids_(ids), session_inode_(session_inode), library_(std::move(library)) {}

StartedProcesses::~StartedProcesses() = default;

// Entries are read in slot order but may have been written in any order: their ticks give the sequence.
void StartedProcesses::take(Control& control, std::uint64_t now_ns) {
  ids_.expire_lookup();
  const std::uint32_t count = control.start_note_count.load(std::memory_order_acquire);
  if (count == seen_note_count_) return;
  seen_note_count_ = count;
  std::vector<StartNote> notes;
  for (StartEntry& entry : used_entries(control)) {
    const std::uint64_t word = entry.word.load(std::memory_order_acquire);
    const auto process_id = static_cast<std::uint32_t>(word);
    if (process_id == 0) continue;
    notes.push_back(read(entry, static_cast<std::uint32_t>(word >> 32), process_id));
    entry.word.store(0, std::memory_order_release);
  }
  std::sort(notes.begin(), notes.end(),
            [](const StartNote& a, const StartNote& b) { return a.number < b.number; });
  for (const StartNote& note : notes) add(note, now_ns);
}

StartedProcesses::StartNote StartedProcesses::read(const StartEntry& entry, std::uint32_t number,
                                                   std::uint32_t process_id) {
  // A process that wrote a note about itself also gives its parent.
  const std::uint32_t owner = entry.owner_process_id.load(std::memory_order_relaxed);
  const std::uint32_t parent = owner == process_id ? entry.parent_process_id : owner;
  const std::uint32_t space = entry.pid_namespace;
  return {number,
          ids_.here(space, process_id),
          ids_.here(space, parent),
          entry.kind.load(std::memory_order_relaxed),
          entry.ticks,
          entry.user_id,
          entry.refusal,
          entry.has_address_limit != 0,
          text_of(entry.program)};
}

StartedProcesses::Process& StartedProcesses::open(std::uint32_t process_id, std::uint32_t parent,
                                                  std::uint64_t now_ns) {
  Process& process = open_[process_id];
  if (process.watch == nullptr) process.watch = std::make_unique<ProcessWatch>(process_id);
  process.seen_ns = now_ns;
  process.parent = parent;
  return process;
}

void StartedProcesses::add(const StartNote& note, std::uint64_t now_ns) {
  Past& past = past_[note.process_id];
  switch (note.kind) {
    case session::start_forked: {
      const auto found = open_.find(note.process_id);
      // Its id belongs to a new process: the old one has ended meanwhile.
      if (found != open_.end() && found->second.exec_ticks < note.ticks &&
          found->second.forked_ticks < note.ticks) {
        end(found->first, found->second, false);
        open_.erase(found);
      }
      if (past.image_ticks > note.ticks) return;
      Process& process = open(note.process_id, note.parent, now_ns);
      process.forked_ticks = note.ticks;
      process.refusal = note.refusal;
      return;
    }
    case session::start_exec:
    case session::start_spawned: {
      if (past.image_ticks > note.ticks || past.failed_ticks > note.ticks) return;
      Process& process = open(note.process_id, note.parent, now_ns);
      process.exec_ticks = note.ticks;
      process.user_id = note.user_id;
      process.has_address_limit = note.has_address_limit;
      process.program = note.program;
      return;
    }
    case session::start_exec_failed: {
      past.failed_ticks = std::max(past.failed_ticks, note.ticks);
      const auto found = open_.find(note.process_id);
      if (found == open_.end() || found->second.exec_ticks > note.ticks) return;
      found->second.exec_ticks = 0;
      close_if_settled(note.process_id);
      return;
    }
    case session::start_refused:
      return add_refusal(note, now_ns);
    default:
      return;  // the program has overwritten the session's memory
  }
}

void StartedProcesses::add_refusal(const StartNote& note, std::uint64_t now_ns) {
  Process& process = open(note.process_id, note.parent, now_ns);
  process.refusal = note.refusal;
  if (process.forked_ticks == 0 && process.exec_ticks == 0) process.exec_ticks = note.ticks;
}

void StartedProcesses::close_if_settled(std::uint32_t process_id) {
  const auto found = open_.find(process_id);
  if (found->second.forked_ticks == 0 && found->second.exec_ticks == 0) open_.erase(found);
}

void StartedProcesses::set_recorded(std::uint32_t process_id, std::uint64_t start_ticks) {
  Past& past = past_[process_id];
  past.image_ticks = std::max(past.image_ticks, start_ticks);
  const auto found = open_.find(process_id);
  if (found == open_.end()) return;
  Process& process = found->second;
  if (process.forked_ticks < start_ticks) process.forked_ticks = 0;
  if (process.exec_ticks < start_ticks) process.exec_ticks = 0;
  close_if_settled(process_id);
}

bool StartedProcesses::has_left_its_image(std::uint32_t process_id) const {
  const auto found = open_.find(process_id);
  if (found != open_.end() && found->second.exec_ticks != 0) return true;
  const auto past = past_.find(process_id);
  return past != past_.end() && past->second.left_ticks > past->second.image_ticks;
}

bool StartedProcesses::is_between_images(std::uint32_t process_id, std::uint64_t now_ns) const {
  const auto found = open_.find(process_id);
  return found != open_.end() && found->second.exec_ticks != 0 &&
         now_ns - found->second.seen_ns < start_patience_ns;
}

bool StartedProcesses::look(Control& control, std::uint64_t now_ns) {
  if (now_ns >= next_claims_look_ns_) forget_claims(control, false, now_ns);
  bool any_is_gone = false;
  for (auto& [process_id, process] : open_) {
    process.is_gone = process.watch->is_gone();
    any_is_gone |= process.is_gone;
  }
  return any_is_gone;
}

void StartedProcesses::end_gone() {
  for (auto next = open_.begin(); next != open_.end();) {
    const auto current = next++;
    if (!current->second.is_gone) continue;
    past_[current->first].left_ticks = current->second.exec_ticks;
    end(current->first, current->second, false);
    open_.erase(current);
  }
}

bool StartedProcesses::any_may_be_recorded(Control& control, std::uint64_t now_ns) {
  forget_claims(control, false, now_ns);
  if (claims_left_since_ns_ != 0) return true;
  return std::any_of(open_.begin(), open_.end(), [&](const auto& entry) {
    const Process& process = entry.second;
    if (process.refusal != 0) return false;
    // A new image has started when the old image's memory is gone.
    if (process.exec_ticks != 0 && now_ns - process.seen_ns >= start_patience_ns &&
        !why_never(process.program, entry.first, process.user_id).empty()) {
      return false;
    }
    return now_ns - process.seen_ns < start_patience_ns || process.watch->maps_inode(session_inode_);
  });
}

// Entries that a killed process had claimed. Its child may still fill them in.
void StartedProcesses::forget_claims(Control& control, bool all, std::uint64_t now_ns) {
  next_claims_look_ns_ = now_ns + claims_interval_ns;
  bool is_any_left = false;
  const bool is_over = claims_left_since_ns_ != 0 && now_ns - claims_left_since_ns_ >= start_patience_ns;
  for (StartEntry& entry : used_entries(control)) {
    std::uint64_t word = entry.word.load(std::memory_order_acquire);
    if (word == 0 || static_cast<std::uint32_t>(word) != 0) continue;
    const std::uint32_t owner =
        ids_.here(entry.pid_namespace, entry.owner_process_id.load(std::memory_order_relaxed));
    if (!all && !is_gone(owner)) continue;
    is_any_left = true;
    if (!all && !is_over) continue;
    const std::string program = text_of(entry.program);
    // The image that a killed process was about to execute is not a start: the process itself is known.
    const std::uint32_t kind = entry.kind.load(std::memory_order_acquire);
    const bool is_start = kind == session::start_forked || kind == session::start_spawned;
    if (!entry.word.compare_exchange_strong(word, 0) || !is_start) continue;
    list({0, owner, program, "its parent ended while starting it", false});
  }
  if (!is_any_left || is_over) {
    claims_left_since_ns_ = 0;
  } else if (claims_left_since_ns_ == 0) {
    claims_left_since_ns_ = now_ns;
  }
}

void StartedProcesses::finish(Control& control, std::uint64_t now_ns) {
  take(control, now_ns);
  forget_claims(control, true, now_ns);
  for (const auto& [process_id, process] : open_) end(process_id, process, true);
  open_.clear();
}

void StartedProcesses::end(std::uint32_t process_id, const Process& process, bool is_alive) {
  UnrecordedProcess one{process_id, process.parent, process.program, "", false};
  if (process.exec_ticks != 0 || process.refusal != 0) {
    one.reason = why_not(process_id, process);
  } else {
    one.reason = is_alive ? "the recording ended before its first heap call" : "it made no heap call";
    one.made_no_call = true;
  }
  list(std::move(one));
}

std::vector<std::string> StartedProcesses::unrecorded_of(std::uint32_t process_id,
                                                         bool has_next_image) const {
  std::vector<std::string> texts;
  const auto add = [&](std::uint32_t id, const std::string& program, const std::string& reason) {
    texts.push_back(std::to_string(id) + "\t" + program + "\t" + reason);
  };
  for (const UnrecordedProcess& one : unrecorded_) {
    if (one.parent_process_id == process_id && !one.made_no_call) {
      add(one.process_id, one.program, one.reason);
    }
  }
  for (const auto& [id, process] : open_) {
    // The fate of its next image is stored in that image's trace.
    const bool is_own = id == process_id ? !has_next_image : process.parent == process_id;
    if (!is_own || process.exec_ticks == 0) continue;
    const bool is_certain = process.is_gone || process.refusal != 0 || id == process_id;
    const std::string reason =
        is_certain ? why_not(id, process) : why_never(process.program, id, process.user_id);
    if (!reason.empty()) add(id, process.program, reason);
  }
  return texts;
}

void StartedProcesses::list(UnrecordedProcess process) {
  if (unrecorded_.size() < most_listed) {
    unrecorded_.push_back(std::move(process));
  } else {
    ++more_unrecorded_;
  }
}

std::string StartedProcesses::why_not(std::uint32_t process_id, const Process& process) const {
  if (process.refusal == session::refused_session_full) {
    return "more than " + std::to_string(session::max_processes) + " processes ran at once";
  }
  if (process.refusal == session::refused_no_memory) {
    return "its address space has no room for the recorder (ulimit -v)";
  }
  if (process.refusal == session::refused_confined) {
    return "a seccomp filter of its parent may kill it for what the recorder would ask of the kernel";
  }
  std::string reason = why_never(process.program, process_id, process.user_id);
  if (!reason.empty()) return reason;
  if (process.user_id != geteuid() && !is_open_to_all(library_)) {
    return "user " + std::to_string(process.user_id) + " may not read the recorder, " + library_;
  }
  return process.has_address_limit
             ? "it ended before its first heap call, or its address space has no room for the recorder "
               "(ulimit -v)"
             : "it started without the recorder (LD_PRELOAD was not passed on, or a sandbox blocks it), "
               "or ended before its first heap call";
}

}  // namespace heapwright::collect
