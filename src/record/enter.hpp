// SPDX-License-Identifier: MIT
// The begin of a hook: with its thread's recorder, or without recording. Most of the code is for hooks that
// begin while another hook of the thread is active or seems to be: calls of the allocator itself, of a new
// handler, of a signal handler, and of code that left a hook by an exception or longjmp.
#pragma once

#include <cstdint>

#include "record/lane.hpp"
#include "record/process.hpp"

namespace heapwright::record {

// The slow part of enter(): links the process, claims a lane, recovers from hooks that were left by an
// exception, counts the calls of signal handlers. nullptr: forward without recording.
ThreadRecorder* enter_slow(const void* frame) noexcept;

// After an operator new whose new handler made calls: restores the thread's own recorder. Returns the
// operator's begin time for the record: the events of a thread begin in order, so it is later than the
// handler's calls. 0: not measured.
std::uint64_t resume_operator(ThreadRecorder& thread) noexcept;

// While an exception passes through a hook of operator new: records the
// failed call and makes the recorder idle.
void leave_operator_by_exception() noexcept;

// Whether a mapping call on the initial thread's stack, inside a real call, is a part of it: made by a
// library that the allocator calls, as libtcmalloc does to look at its caller's stack. False: by a signal
// handler, or unknown.
bool is_part_of_real_call(const ThreadRecorder& thread, const void* frame) noexcept;

// The thread's recorder, whether the recording is on or not. nullptr: there is none, or it is busy.
[[gnu::always_inline]] inline ThreadRecorder* enter_unless_busy(const void* frame) noexcept {
  ThreadRecorder* thread = current_thread;
  if (wiped_on_fork.mode.load(std::memory_order_relaxed) != Mode::active || thread == nullptr ||
      thread->activity != Activity::program) [[unlikely]] {
    thread = enter_slow(frame);
  }
  return thread;
}

// Begins a hook. nullptr: forward without recording.
[[gnu::always_inline]] inline ThreadRecorder* enter(const void* frame) noexcept {
  ThreadRecorder* thread = enter_unless_busy(frame);
  if (thread == nullptr) [[unlikely]] {
    return nullptr;
  }
  if (process.control->is_recording.load(std::memory_order_relaxed) == 0) [[unlikely]] {
    return nullptr;
  }
  thread->activity = Activity::real_call;
  thread->hook_frame = reinterpret_cast<std::uintptr_t>(frame);
  return thread;
}

// Between the two, heap calls of libc and the loader are no calls of the program: they look something up for
// the recorder. The second is given what the first returned; it does nothing after a call inside has linked a
// fork child, which forgets its parent's recorders.
ThreadRecorder* begin_calls_of_libc() noexcept;
void end_calls_of_libc(ThreadRecorder* thread) noexcept;

// find_operator() while calling_libc is the thread's recorder.
void* find_operator_aside(const char* mangled_name) noexcept;

}  // namespace heapwright::record
