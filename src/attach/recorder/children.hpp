// SPDX-License-Identifier: MIT
// Children of an attached process that are recorded as well (docs/decisions/0057).
//
// A forked child has its parent's patches and a mapping of its session. Its first heap call maps a block of
// its own in the place of its parent's, so nothing else of the agent changes. An image that replaces a
// process is given the recorder's library by its environment.
#pragma once

namespace heapwright::attach::recorder {

// For a process in which nothing is recorded: whether it is a forked child that is recorded from now on.
// Asked once; later calls are of one load. Makes system calls, unless a filter may forbid them.
bool link_forked() noexcept;

int hook_execve(const char* path, char* const* arguments, char* const* environment) noexcept;
// A filter that is about to be installed may kill the process for what it never did before.
int hook_prctl(int option, long a, long b, long c, long d) noexcept;
long hook_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept;

}  // namespace heapwright::attach::recorder
