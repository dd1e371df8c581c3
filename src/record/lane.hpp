// SPDX-License-Identifier: MIT
// A thread's way into the session: one lane, one ring, no lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/process.hpp"
#include "record/ring.hpp"
#include "record/sample_interval.hpp"
#include "unwind/unwind.hpp"

namespace heapwright::record {

// What the thread is doing, seen from a nested call of the same thread.
enum class Activity : std::uint32_t {
  program = 0,    // in the program's own code: the next call is recorded
  real_call = 1,  // in the real function: calls it makes are not the program's
  recorder = 2,   // in the recorder: a nested call comes from a signal handler
  stand_in = 3,   // not the thread's own recorder, see ThreadRecorder::stands_for
};

struct ThreadRecorder {
  session::Lane* lane;
  unwind::ThreadStack* stack;
  std::uint64_t head;
  std::uint64_t limit;
  std::uint64_t ring_mask;
  Activity activity;
  // Frame of the hook that set `activity`. A call from above it proves that
  // the hook was left by an exception or longjmp.
  std::uintptr_t hook_frame;
  SampleInterval sampling;
  // The operator new in progress (EventKind::none: none is), for the record
  // of its failure. It alone may call the program back: its new handler.
  std::uint64_t pending_size;
  std::uint64_t pending_ticks;  // 0: not taken
  EventKind pending_kind;
  std::uint8_t pending_alignment_log2;
  // Set in a stand-in only: the thread's own recorder. The stand-in is the
  // thread's `current_thread` from the first call that a new handler makes to
  // the end of the operator new that called it, and keeps what is pending
  // there. It is never idle, so every hook meanwhile takes the slow way.
  ThreadRecorder* stands_for;
};

// Lane::recorder_state: the thread's recorder, its stand-in, its stack.
inline constexpr std::size_t stand_in_offset = 128;
inline constexpr std::size_t stack_offset = 256;
static_assert(sizeof(ThreadRecorder) <= 128);

[[gnu::visibility("hidden")]] extern thread_local constinit ThreadRecorder* current_thread;

// Stands in for a thread whose recorder claims a lane or looks an operator up:
// what libc and the loader allocate meanwhile is not the program's.
[[gnu::visibility("hidden")]] extern constinit ThreadRecorder calling_libc;

// Prepares lanes for this process image; `in_fork_child` forgets the parent's.
void begin_lanes(bool in_fork_child) noexcept;

// Gives the calling thread, which has none, a lane. nullptr: there is none to
// be had, and the call is counted as dropped. Keeps errno.
ThreadRecorder* claim_lane() noexcept;

// Makes room for `slots` more slots, waiting for the collector if it must.
// False: the collector is gone and the event is counted as dropped.
bool make_room(ThreadRecorder& thread, std::uint64_t slots) noexcept;

[[gnu::cold]] void emit_extended(ThreadRecorder& thread, const Call& call) noexcept;

// Writes the call into the ring and publishes it.
[[gnu::always_inline]] inline void emit(ThreadRecorder& thread, const Call& call) noexcept {
  if (!fits_one_slot(call)) [[unlikely]] {
    return emit_extended(thread, call);
  }
  if (thread.head >= thread.limit) [[unlikely]] {
    if (!make_room(thread, 1)) return;
  }
  write_slot(thread, call);
}

}  // namespace heapwright::record
