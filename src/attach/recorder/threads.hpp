// SPDX-License-Identifier: MIT
// The calling thread's entry and lane, and how a hook begins.
#pragma once

#include "attach/agent/thread_table.hpp"
#include "attach/recorder/agent_data.hpp"

namespace heapwright::attach::recorder {

// Of the recording, for record/ring.hpp.
struct Collector {
  session::Control& control;
  bool ticks_are_tsc;
  bool is_alive() const noexcept {
    return heapwright_agent_threads.is_active != 0 && session::is_collector_alive(control);
  }
  bool waits() const noexcept { return (control.flags & session::drop_when_full) == 0; }
  static bool is_confined() noexcept {
    return heapwright_agent.block->is_confined.load(std::memory_order_relaxed) != 0;
  }
};
inline Collector collector() noexcept { return {*heapwright_agent.control, ticks_are_tsc()}; }

// Begins a hook of a thread that has no entry at its home, or is not in the program's code. nullptr: forward
// without recording.
Thread* enter_slow(std::uint64_t key, std::uint64_t frame) noexcept;

// False: the collector is gone.
bool make_room(Thread& thread, std::uint64_t slots) noexcept;

// Begins a hook. nullptr: forward without recording.
[[gnu::always_inline]] inline Thread* enter(const void* frame_address,
                                            Activity activity = Activity::real_call) noexcept {
  if (heapwright_agent.control->is_recording.load(std::memory_order_relaxed) == 0) [[unlikely]] {
    return nullptr;
  }
  const std::uint64_t key = agent::thread_pointer();
  const auto frame = reinterpret_cast<std::uint64_t>(frame_address);
  Thread* thread = &heapwright_agent_threads.threads[agent::home_of(key)];
  if (thread->key != key || thread->identity != identity_of_caller(key) ||
      thread->activity != Activity::program) [[unlikely]] {
    thread = enter_slow(key, frame);
    if (thread == nullptr) return nullptr;
  }
  thread->hook_frame = frame;
  thread->activity = activity;
  return thread;
}

// Whether the recording in which the hook began is still active: the thread may have been in the real
// function while another recording replaced it.
[[gnu::always_inline]] inline bool is_still_recorded(const Thread& thread) noexcept {
  return thread.identity >> 32 == heapwright_agent.common.attachment;
}

}  // namespace heapwright::attach::recorder
