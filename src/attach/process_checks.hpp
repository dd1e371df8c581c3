// SPDX-License-Identifier: MIT
// Checks of a process before anything is done to it.
#pragma once

#include <sys/types.h>

namespace heapwright::attach {

// Refusal: it should not be attached to. asker: the requesting process, which cannot attach to itself.
// is_forced: attach despite a seccomp filter. is_recorded: it may be in other namespaces, unlike one that is
// counted, whose page has a path.
void check_process(pid_t process, pid_t asker, bool is_forced, bool is_recorded);

}  // namespace heapwright::attach
