// SPDX-License-Identifier: MIT
// Facts from /proc about a process and its threads.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace heapwright::attach {

// /proc/PID/status, or a thread's, by label ("Uid"). Empty: there is no such process.
std::map<std::string, std::string> read_status(pid_t process, pid_t thread = 0);

// The number at the start of a value; 0: none.
long number_in(const std::string& value);

std::vector<pid_t> threads_of(pid_t process);

// "S (sleeping)"; empty: it is gone.
std::string state_of(pid_t process, pid_t thread);

// Whether the thread is gone, or only its exit code is left.
bool has_ended(pid_t process, pid_t thread);

// Field 22 of /proc/PID/stat, which distinguishes processes that reuse an id; 0: there is no such process.
std::uint64_t start_ticks_of(pid_t process);

// The target of a link in /proc/PID; empty: unreadable.
std::string link_of(pid_t process, const std::string& name);

// Why the kernel forbids tracing it, as far as can be determined, and what to do.
std::string why_not_traced(pid_t process);

}  // namespace heapwright::attach
