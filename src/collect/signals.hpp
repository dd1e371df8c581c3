// SPDX-License-Identifier: MIT
// Signals while a program is being recorded. What a terminal sends reaches
// the program by itself, so the collector lives on to finish the traces; what
// was sent to the collector alone is passed on.
#pragma once

#include <sys/types.h>

namespace heapwright::collect {

// Takes over SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD and
// makes SIGPIPE and SIGXFSZ errors of the write that caused them. To be
// called after the program was forked.
void watch_signals(pid_t program);

// From now on SIGINT, SIGQUIT, SIGTERM and SIGHUP ask the collector to end.
void stop_forwarding();

// Whether one of those has come since.
bool is_asked_to_end();

// Whether a child has ended since the last call of consume_child_ended().
bool has_child_ended();
bool consume_child_ended();

}  // namespace heapwright::collect
