// SPDX-License-Identifier: MIT
// A thread's connection to the session: one lane, one ring, no lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/process.hpp"
#include "record/ring.hpp"
#include "record/sample_interval.hpp"
#include "unwind/python_frames.hpp"
#include "unwind/unwind.hpp"

namespace heapwright::record {

// What the thread is doing, as seen from a nested call of the same thread.
enum class Activity : std::uint32_t {
  program = 0,    // in the program's code: the next call is recorded
  real_call = 1,  // in the real function: calls it makes are not the program's
  recorder = 2,   // in the recorder: a nested call comes from a signal handler
  stand_in = 3,   // not the thread's own recorder; see ThreadRecorder::stands_for
};

struct ThreadRecorder {
  session::Lane* lane;
  unwind::ThreadStack* stack;
  std::uint64_t head;
  std::uint64_t limit;
  std::uint64_t ring_mask;
  Activity activity;
  // Frame of the hook that set `activity`. A call from a higher frame proves that the hook was left by an
  // exception or longjmp.
  std::uintptr_t hook_frame;
  SampleInterval sampling;
  // The operator new in progress (EventKind::none if none), to record its failure. It is the only call that
  // may call back into the program: its new handler.
  std::uint64_t pending_size;
  std::uint64_t pending_ticks;  // 0: not measured
  EventKind pending_kind;
  std::uint8_t pending_alignment_log2;
  bool lacks_context;  // there was no room to write which context the thread is in
  // Set only in a stand-in: the thread's own recorder. The stand-in is the thread's `current_thread` from the
  // first call of a new handler to the end of the operator new that called it, and holds the pending state.
  // It is never idle, so meanwhile every hook takes the slow path.
  ThreadRecorder* stands_for;
};

// Lane::recorder_state: the thread's recorder, its stand-in, its stack, its Python frames.
inline constexpr std::size_t stand_in_offset = 128;
inline constexpr std::size_t stack_offset = 256;
inline constexpr std::size_t python_offset = 16384 - 256;
static_assert(python_offset + unwind::python_stack_bytes <= session::lane_state_bytes);
static_assert(sizeof(ThreadRecorder) <= 128);

[[gnu::visibility("hidden")]] extern thread_local constinit ThreadRecorder* current_thread;

// The name that the program gave to what the thread does (include/heapwright/annotate.h); nullptr: none.
[[gnu::visibility("hidden")]] extern thread_local constinit const char* current_context;

// Replaces a thread's recorder while that claims a lane or looks up an operator: what libc and the loader
// allocate meanwhile is not the program's. And for good once a thread may not read the clock.
[[gnu::visibility("hidden")]] extern constinit ThreadRecorder calling_libc;

// Prepares the lanes of this process image, of which the first is mapped; `in_fork_child` discards the
// parent's.
void begin_lanes(bool in_fork_child, session::Lane* first) noexcept;

// Maps some lanes for threads to come, because a confined process cannot.
void map_spare_lanes() noexcept;

// Gives the calling thread its first lane. nullptr: none is available, and the call is counted as dropped.
// Keeps errno.
ThreadRecorder* claim_lane() noexcept;

// Makes room for `slots` more slots; waits for the collector if necessary. False: the collector is gone and
// the event is counted as dropped.
bool make_room(ThreadRecorder& thread, std::uint64_t slots) noexcept;

// Writes which context the thread is in from here on: current_context.
void emit_context(ThreadRecorder& thread) noexcept;

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
