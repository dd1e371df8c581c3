// SPDX-License-Identifier: MIT
#include "record/start_notes.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstring>

#include "platform/futex.hpp"
#include "platform/raw_syscall.hpp"
#include "record/process.hpp"

namespace heapwright::record {

using platform::raw_argument;
using platform::raw_syscall;
using session::Control;
using session::StartEntry;

namespace {

// Who the caller is. A confined process cannot ask: it knows what it was when it was linked.
void write_owner(StartEntry& entry) noexcept {
  entry.owner_process_id.store(static_cast<std::uint32_t>(own_process_id()), std::memory_order_relaxed);
  if (is_confined()) {
    entry.user_id = process.user_id;
    entry.parent_process_id = process.parent_process_id;
    entry.pid_namespace = process.pid_namespace;
    entry.has_address_limit = 0;
    entry.refusal = session::refused_confined;
    return;
  }
  entry.user_id = static_cast<std::uint32_t>(raw_syscall(SYS_geteuid));
  entry.parent_process_id = static_cast<std::uint32_t>(raw_syscall(SYS_getppid));
  entry.pid_namespace = own_pid_namespace();
  entry.has_address_limit = has_address_space_limit() ? 1 : 0;
  entry.refusal = 0;
}

void wake(Control& control) noexcept {
  control.start_note_count.fetch_add(1, std::memory_order_seq_cst);
  if (is_confined()) return;
  if (control.collector_sleeps.exchange(0) != 0) platform::futex_wake(control.collector_sleeps);
}

StartNote claim(Control& control, session::StartKind kind) noexcept {
  const std::uint32_t number = control.next_start_number.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t word = std::uint64_t{number + 1} << 32;
  const Starts starts = map_starts(control);
  for (std::uint32_t probe = 0; word != 0 && probe < starts.count; ++probe) {
    StartEntry& entry = starts.first[(number + probe) % starts.count];
    std::uint64_t expected = 0;
    if (!entry.word.compare_exchange_strong(expected, word, std::memory_order_acq_rel)) continue;
    entry.kind.store(0, std::memory_order_release);  // from an earlier claim
    write_owner(entry);
    entry.ticks = rare_ticks((control.flags & session::clock_is_tsc) != 0);
    entry.program[0] = '\0';
    // Last: a claim whose owner is killed before this is ignored.
    entry.kind.store(kind, std::memory_order_release);
    return {&entry, word};
  }
  control.starts_lost.fetch_add(1, std::memory_order_relaxed);
  return {};
}

}  // namespace

void write_absolute(char* to, std::size_t room, const char* program) noexcept {
  const std::size_t length = std::strlen(program);
  std::size_t used = 0;
  if (program[0] != '/' && std::strchr(program, '/') != nullptr && !is_confined()) {
    const long bytes = raw_syscall(SYS_getcwd, raw_argument(to), static_cast<long>(room));
    const bool fits = bytes > 1 && to[0] == '/' && static_cast<std::size_t>(bytes) + length < room;
    if (fits) used = static_cast<std::size_t>(bytes);
    if (fits) to[used - 1] = '/';
  }
  const std::size_t taken = length < room - used ? length : room - used - 1;
  std::memcpy(to + used, program, taken);
  to[used + taken] = '\0';
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

std::uint32_t own_pid_namespace() noexcept {
  struct stat status {};
  const long result =
      raw_syscall(SYS_newfstatat, AT_FDCWD, raw_argument("/proc/self/ns/pid"), raw_argument(&status), 0);
  return result == 0 ? static_cast<std::uint32_t>(status.st_ino) : 0;
}

bool has_address_space_limit() noexcept {
  rlimit limit{};
  raw_syscall(SYS_prlimit64, 0, RLIMIT_AS, 0, raw_argument(&limit));
  return limit.rlim_cur != RLIM_INFINITY;
}

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
  if (note.entry == nullptr) return;
  std::uint64_t expected = note.claimed_word;
  const std::uint64_t written = note.claimed_word | static_cast<std::uint32_t>(process_id);
  // Fails if the other side was first; the entry may belong to another process by now.
  if (note.entry->word.compare_exchange_strong(expected, written, std::memory_order_acq_rel)) {
    wake(*process.control);
  }
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
