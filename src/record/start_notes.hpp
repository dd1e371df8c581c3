// SPDX-License-Identifier: MIT
// Reports to the collector every process that this one starts and every image that is to replace it, from the
// fork or exec itself: this includes those that never make a heap call or cannot be recorded. No lock, no
// allocation; errno is kept. Safe in a vfork child.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "record/start_claims.hpp"
#include "session/layout.hpp"

namespace heapwright::record {

// The session that this process, or the recorded process it is a copy of, is linked to. nullptr: none, or its
// collector is gone.
session::Control* noted_session() noexcept;

// The caller's id, from the kernel: libraries may cache a parent's. A confined process cannot ask: the linked
// process's own.
pid_t own_process_id() noexcept;

// Keeps the caller's ids for the time when it may not ask (record/process.hpp).
void remember_ids() noexcept;

// A fork child that is the first of its PID namespace: it sees itself by another id than its parent does.
bool is_first_of_namespace() noexcept;

// As in start_claims.hpp, of a process that may be confined.
void write_absolute(char* to, std::size_t room, const char* program) noexcept;

// Before the fork or exec.
StartNote begin_note(session::StartKind kind, const char* program = "") noexcept;
// After it, in parent or child or both: it succeeded, as process `process_id`.
void publish_note(const StartNote& note, pid_t process_id) noexcept;
// It failed.
void drop_note(const StartNote& note) noexcept;

// Reports the calling process itself, at once.
void report_refusal(session::Control& control, session::StartRefusal refusal) noexcept;
void report_exec_failed() noexcept;

// Without follow_children: counts a child that runs without the recorder.
void count_child_left_alone() noexcept;

}  // namespace heapwright::record
