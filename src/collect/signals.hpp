// SPDX-License-Identifier: MIT
// Signals while a program is being recorded. A terminal's signals reach the program directly, so the
// collector ignores them and finishes the traces; signals sent to the collector alone are forwarded.
#pragma once

#include <sys/types.h>

namespace heapwright::collect {

// Takes over SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD and turns SIGPIPE and SIGXFSZ into
// errors of the write that caused them. Must be called after the program was forked.
void watch_signals(pid_t program);

// From now on SIGINT, SIGQUIT, SIGTERM and SIGHUP end the recording.
void stop_forwarding();

// Whether one of those has arrived since.
bool is_asked_to_end();

// Whether a child has ended since the last call of consume_child_ended().
bool has_child_ended();
bool consume_child_ended();

}  // namespace heapwright::collect
