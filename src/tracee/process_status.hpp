// SPDX-License-Identifier: MIT
// Facts from /proc about a process and its threads.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace heapwright::tracee {

// Why it cannot be traced or read.
inline constexpr char it_has_ended[] = "it has ended";

// /proc/PID/status, or a thread's, by label ("Uid"). Empty: there is no such process.
std::map<std::string, std::string> read_status(pid_t process, pid_t thread = 0);

// The number at the start of a value; 0: none.
long number_in(const std::string& value);
// Of "Seccomp": a filter judges its system calls.
inline constexpr long seccomp_filter = 2;
// The kernel kills the thread for any system call but a few.
inline constexpr long seccomp_strict = 1;

// The id by which a process, or a thread of it, knows itself: another one in a PID namespace of its own. 0:
// it is gone, or the kernel does not tell (before 4.1).
long number_within(pid_t process, pid_t thread = 0);

// Whether it is in another PID namespace, below ours.
bool is_in_namespace_below(pid_t process);

std::vector<pid_t> threads_of(pid_t process);

// "S (sleeping)"; empty: it is gone.
std::string state_of(pid_t process, pid_t thread);

// Whether the thread is gone, or only its exit code is left.
bool has_ended(pid_t process, pid_t thread);

// The process, or a thread of it if its main thread has ended before others: the kernel shows the memory of a
// process only by threads that run. As an id in /proc.
pid_t with_memory(pid_t process);
std::string memory_folder(pid_t process);

// Whether it has no memory any longer: it has ended, or is about to.
bool has_no_memory(pid_t process);

// Why the kernel forbids tracing it, as far as can be determined, and what to do.
std::string why_not_traced(pid_t process);

}  // namespace heapwright::tracee
