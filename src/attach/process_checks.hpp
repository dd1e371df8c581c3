// SPDX-License-Identifier: MIT
// What can be said against a process before anything is done to it.
#pragma once

#include <sys/types.h>

namespace heapwright::attach {

// Refusal: it is better left alone. asker: who wants to know, who cannot ask about himself. is_forced: a
// filter of system calls is no reason; `option` asks for that.
void check_process(pid_t process, pid_t asker, bool is_forced, const char* option);

}  // namespace heapwright::attach
