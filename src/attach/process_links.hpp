// SPDX-License-Identifier: MIT
// What identifies a process, and what /proc links to.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace heapwright::attach {

// Field 22 of /proc/PID/stat, which distinguishes processes that reuse an id; 0: there is no such process.
std::uint64_t start_ticks_of(pid_t process);

// The target of a link in /proc/PID; empty: unreadable.
std::string link_of(pid_t process, const std::string& name);

}  // namespace heapwright::attach
