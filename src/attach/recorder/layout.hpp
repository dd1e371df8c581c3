// SPDX-License-Identifier: MIT
// What the agent that records and the program that maps it agree on, beside agent::Agent.
#pragma once

#include <cstdint>

#include "attach/agent/layout.hpp"
#include "record/sample_interval.hpp"
#include "record/sampled_blocks.hpp"
#include "session/layout.hpp"
#include "unwind/unwind.hpp"

namespace heapwright::attach::recorder {

using agent::max_threads;

// What a thread is doing, seen from a nested call of the same thread.
enum class Activity : std::uint32_t {
  program,    // in the program's own code: the next call is recorded
  real_call,  // in the real function: calls it makes are not the program's
  recorder,   // in the agent: a nested call comes from a signal handler
};

struct alignas(64) Thread {
  std::uint64_t key;
  // The attachment << 32 and what tells the threads of one key apart: another thread, or another recording,
  // has another one. 0: it is being taken.
  std::uint64_t identity;
  session::Lane* lane;  // nullptr: there was none to be had
  unwind::ThreadStack* stack;
  std::uint64_t head;
  std::uint64_t limit;
  std::uint64_t ring_mask;
  std::uint64_t hook_frame;  // of the hook that set `activity`
  Activity activity;
  std::uint32_t generation;  // of the lane
  record::SampleInterval sampling;
};

// Zeroed by the kernel in a fork's child, which then only forwards.
struct alignas(4096) WipedOnFork {
  std::uint64_t is_active;
  Thread threads[max_threads];
};

// A part of session::max_lanes: a thread has its entry above.
inline constexpr std::uint32_t max_lanes = max_threads;
// What a process maps of a session: its control part and its first block, to the end of these lanes.
inline constexpr std::uint64_t mapped_bytes = session::process_offset(0) +
                                              offsetof(session::ProcessBlock, lanes) +
                                              max_lanes * std::uint64_t{sizeof(session::Lane)};
// Behind it, memory of the process alone: which blocks were sampled, none at first.
struct alignas(4096) SampledMemory {
  record::SampleSlots slots;
  record::SamplesAlike alike;
  record::SamplePages pages;
};
// By thread entry: for the last stacks. Not in the lane, which is taken away while a thread may use it.
struct alignas(64) StackMemory {
  std::uint8_t bytes[12 * 1024];  // unwind::thread_stack_bytes() is no more
};
// What plain memory takes the place of while a thread may use it, and all that is mapped.
inline constexpr std::uint64_t replaced_bytes = mapped_bytes + sizeof(SampledMemory);
inline constexpr std::uint64_t area_bytes = replaced_bytes + max_threads * std::uint64_t{sizeof(StackMemory)};

struct RecordingAgent {
  agent::Agent common{};
  session::Control* control{};
  session::ProcessBlock* block{};
  SampledMemory* sampled{};
  StackMemory* stacks{};
  // From the thread pointer, 4 bytes that the threads of one thread pointer differ in, one after the other.
  std::uint64_t identity_offset{};
  // The loader's; nullptr: libc has none.
  int (*find_object)(void*, void*){};
  void* stack_end{};
  // A call from the allocator's code, while it runs, is its own; so is one that returns to the agent's: the
  // allocator went on by a jump.
  std::uint64_t allocator_code{};
  std::uint64_t allocator_code_bytes{};
  std::uint64_t agent_code{};
  std::uint64_t agent_code_bytes{};
  // Where sessions are mapped, in turns: a thread may still write to the last one. 0: nowhere yet.
  std::uint64_t areas[2]{};
  // In the agent after a dlclose.
  std::uint64_t threads_unloading{};
  char session_name[16]{};  // only for the system call that makes it
  // By lane: even where it may be taken once its thread has ended, odd while it is taken or was never.
  std::uint32_t claims[max_lanes]{};
};

}  // namespace heapwright::attach::recorder
