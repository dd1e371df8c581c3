// SPDX-License-Identifier: MIT
// Entries of a session's start table, as the preloaded recorder and the agent in a running process write
// them. No lock, no allocation, no libc but its memory and text functions; safe in a vfork child.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "platform/futex.hpp"
#include "platform/raw_syscall.hpp"
#include "session/layout.hpp"

namespace heapwright::record {

// entry is nullptr if there is no session, or its table is full.
struct StartNote {
  session::StartEntry* entry = nullptr;
  std::uint64_t claimed_word = 0;
};

// The part of a start table that the process has mapped.
struct Starts {
  session::StartEntry* first;
  std::uint32_t count;  // 0: it cannot be mapped
};

// The inode of the caller's PID namespace, in which its ids are valid; 0 if /proc does not show it.
inline std::uint32_t own_pid_namespace() noexcept {
  struct stat status {};
  const long result = platform::raw_syscall(
      SYS_newfstatat, AT_FDCWD, platform::raw_argument("/proc/self/ns/pid"), platform::raw_argument(&status));
  return result == 0 ? static_cast<std::uint32_t>(status.st_ino) : 0;
}

inline bool has_address_space_limit() noexcept {
  rlimit limit{};
  platform::raw_syscall(SYS_prlimit64, 0, RLIMIT_AS, 0, platform::raw_argument(&limit));
  return limit.rlim_cur != RLIM_INFINITY;
}

// Writes a path that is still valid when the process is gone: its folder is prepended if there is room. A
// name without a slash is searched for in PATH. may_ask: the kernel, for the folder.
inline void write_absolute(char* to, std::size_t room, const char* program, bool may_ask) noexcept {
  const std::size_t length = std::strlen(program);
  std::size_t used = 0;
  std::size_t slash = 0;
  while (slash < length && program[slash] != '/') ++slash;
  if (slash != 0 && slash != length && may_ask) {
    const long bytes = platform::raw_syscall(SYS_getcwd, platform::raw_argument(to), static_cast<long>(room));
    const bool fits = bytes > 1 && to[0] == '/' && static_cast<std::size_t>(bytes) + length < room;
    if (fits) used = static_cast<std::size_t>(bytes);
    if (fits) to[used - 1] = '/';
  }
  const std::size_t taken = length < room - used ? length : room - used - 1;
  std::memcpy(to + used, program, taken);
  to[used + taken] = '\0';
}

// Who the caller is, as the kernel has it.
inline void write_owner(session::StartEntry& entry) noexcept {
  entry.owner_process_id.store(static_cast<std::uint32_t>(platform::raw_syscall(SYS_getpid)),
                               std::memory_order_relaxed);
  entry.user_id = static_cast<std::uint32_t>(platform::raw_syscall(SYS_geteuid));
  entry.parent_process_id = static_cast<std::uint32_t>(platform::raw_syscall(SYS_getppid));
  entry.pid_namespace = own_pid_namespace();
  entry.has_address_limit = has_address_space_limit() ? 1 : 0;
  entry.refusal = 0;
}

// `write` fills in what write_owner() does.
template <typename WriteOwner>
StartNote claim_start(session::Control& control, Starts starts, session::StartKind kind, std::uint64_t ticks,
                      WriteOwner write) noexcept {
  const std::uint32_t number = control.next_start_number.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t word = std::uint64_t{number + 1} << 32;
  for (std::uint32_t probe = 0; word != 0 && probe < starts.count; ++probe) {
    session::StartEntry& entry = starts.first[(number + probe) % starts.count];
    std::uint64_t expected = 0;
    if (!entry.word.compare_exchange_strong(expected, word, std::memory_order_acq_rel)) continue;
    entry.kind.store(0, std::memory_order_release);  // from an earlier claim
    write(entry);
    entry.ticks = ticks;
    entry.program[0] = '\0';
    // Last: a claim whose owner is killed before this is ignored.
    entry.kind.store(kind, std::memory_order_release);
    return {&entry, word};
  }
  control.starts_lost.fetch_add(1, std::memory_order_relaxed);
  return {};
}

// As of process `process_id`. False: the other side was first, and the entry may belong to another process.
inline bool publish_start(const StartNote& note, pid_t process_id) noexcept {
  if (note.entry == nullptr) return false;
  std::uint64_t expected = note.claimed_word;
  const std::uint64_t written = note.claimed_word | static_cast<std::uint32_t>(process_id);
  return note.entry->word.compare_exchange_strong(expected, written, std::memory_order_acq_rel);
}

// After a note was published.
inline void tell_of_start(session::Control& control, bool may_wake) noexcept {
  control.start_note_count.fetch_add(1, std::memory_order_seq_cst);
  if (may_wake && control.collector_sleeps.exchange(0) != 0) platform::futex_wake(control.collector_sleeps);
}

}  // namespace heapwright::record
