// SPDX-License-Identifier: MIT
// Whether a server takes the pages of processes that have ended: it reads from a pipe in /dev/shm that is its
// user's, or root's. Nothing is ever written to it; opening it for writing tells whether somebody reads.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>

#include "counters/page_file.hpp"
#include "platform/raw_syscall.hpp"

namespace heapwright::counters {

inline constexpr PageName roots_pipe{"/dev/shm/heapwright-root.serve"};

inline PageName pipe_of(std::uint32_t user) noexcept {
  return user == 0 ? roots_pipe : page_name(user, ".serve");
}

inline bool has_reader(const PageName& pipe, std::uint32_t owner) noexcept {
  const long file = platform::raw_syscall(SYS_openat, AT_FDCWD, platform::raw_argument(pipe.text),
                                          O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return false;  // no such file, or nobody reads
  struct stat status {};
  const bool is_theirs = platform::raw_syscall(SYS_fstat, file, platform::raw_argument(&status)) == 0 &&
                         S_ISFIFO(status.st_mode) && status.st_uid == owner;
  platform::raw_syscall(SYS_close, file);
  return is_theirs;
}

// Three system calls for each user that may serve: this one and root.
inline bool is_collected() noexcept {
  const auto user = static_cast<std::uint32_t>(platform::raw_syscall(SYS_geteuid));
  return has_reader(pipe_of(user), user) || (user != 0 && has_reader(roots_pipe, 0));
}

}  // namespace heapwright::counters
