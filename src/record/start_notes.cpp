// SPDX-License-Identifier: MIT
#include "record/start_notes.hpp"

#include "platform/raw_syscall.hpp"
#include "record/process.hpp"

namespace heapwright::record {

using platform::raw_argument;
using platform::raw_syscall;
using session::Control;
using session::StartEntry;

namespace {

// Who the caller is. A confined process cannot ask: it knows what it was when it was linked.
void write_caller(StartEntry& entry) noexcept {
  if (!is_confined()) return write_owner(entry);
  entry.owner_process_id.store(process.process_id, std::memory_order_relaxed);
  entry.user_id = process.user_id;
  entry.parent_process_id = process.parent_process_id;
  entry.pid_namespace = process.pid_namespace;
  entry.has_address_limit = 0;
  entry.refusal = session::refused_confined;
}

void wake(Control& control) noexcept { tell_of_start(control, !is_confined()); }

StartNote claim(Control& control, session::StartKind kind) noexcept {
  const std::uint64_t ticks = rare_ticks((control.flags & session::clock_is_tsc) != 0);
  return claim_start(control, map_starts(control), kind, ticks, write_caller);
}

}  // namespace

void write_absolute(char* to, std::size_t room, const char* program) noexcept {
  write_absolute(to, room, program, !is_confined());
}

pid_t own_process_id() noexcept {
  return static_cast<pid_t>(is_confined() ? static_cast<long>(process.process_id) : raw_syscall(SYS_getpid));
}

void remember_ids() noexcept {
  process.process_id = static_cast<std::uint32_t>(raw_syscall(SYS_getpid));
  process.parent_process_id = static_cast<std::uint32_t>(raw_syscall(SYS_getppid));
  process.user_id = static_cast<std::uint32_t>(raw_syscall(SYS_geteuid));
  process.pid_namespace = own_pid_namespace();
}

bool is_first_of_namespace() noexcept { return raw_syscall(SYS_getppid) == 0; }

Control* noted_session() noexcept {
  Control* control = process.control;
  return control != nullptr && control->is_closed.load(std::memory_order_acquire) == 0 ? control : nullptr;
}

StartNote begin_note(session::StartKind kind, const char* program) noexcept {
  Control* control = noted_session();
  if (control == nullptr) return {};
  const StartNote note = claim(*control, kind);
  if (note.entry == nullptr) return note;
  write_absolute(note.entry->program, sizeof note.entry->program, program);
  return note;
}

void publish_note(const StartNote& note, pid_t process_id) noexcept {
  if (publish_start(note, process_id)) wake(*process.control);
}

void drop_note(const StartNote& note) noexcept {
  if (note.entry == nullptr) return;
  std::uint64_t expected = note.claimed_word;
  note.entry->word.compare_exchange_strong(expected, 0, std::memory_order_acq_rel);
}

void report_refusal(Control& control, session::StartRefusal refusal) noexcept {
  const StartNote note = claim(control, session::start_refused);
  if (note.entry == nullptr) return;
  note.entry->refusal = refusal;
  note.entry->word.store(note.claimed_word | static_cast<std::uint32_t>(own_process_id()),
                         std::memory_order_release);
  wake(control);
}

void report_exec_failed() noexcept { publish_note(begin_note(session::start_exec_failed), own_process_id()); }

void count_child_left_alone() noexcept {
  Control* control = noted_session();
  if (control == nullptr || (control->flags & session::follow_children) != 0) return;
  control->children_left_alone.fetch_add(1, std::memory_order_relaxed);
  // A copy of the recorded process must not count in a block that may have a new owner by now; for a vfork
  // child, the block's owner is its parent.
  const auto owner = static_cast<long>(process.block->process_id);
  const bool is_own = owner == own_process_id() || (!is_confined() && owner == raw_syscall(SYS_getppid));
  if (is_own) process.block->children_left_alone.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace heapwright::record
