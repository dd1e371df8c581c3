// SPDX-License-Identifier: MIT
// The interface between the recording agent and the program that maps it, in addition to agent::Agent.
#pragma once

#include <atomic>
#include <cstdint>

#include "attach/agent/layout.hpp"
#include "record/sample_interval.hpp"
#include "record/sampled_blocks.hpp"
#include "session/layout.hpp"
#include "unwind/interpreter.hpp"
#include "unwind/python_frames.hpp"
#include "unwind/unwind.hpp"

namespace heapwright::attach::recorder {

using agent::Heap;
using agent::heap_count;
using agent::max_threads;

// What a thread is doing, as seen from a nested call of the same thread.
enum class Activity : std::uint32_t {
  program,      // in the program's code: the next call is recorded
  real_call,    // in the real function: calls it makes are not the program's
  recorder,     // in the agent: a nested call comes from a signal handler
  second_call,  // in the real function of the second allocator
};

struct alignas(64) Thread {
  std::uint64_t key;
  // The attachment << 32 and a value that distinguishes threads with the same key: it differs for another
  // thread or another recording. 0: the entry is being taken.
  std::uint64_t identity;
  session::Lane* lane;  // nullptr: none was available
  unwind::ThreadStack* stack;
  std::uint64_t head;
  std::uint64_t limit;
  std::uint64_t ring_mask;
  std::uint64_t hook_frame;  // of the hook that set `activity`
  Activity activity;
  std::uint32_t generation;  // of the lane
  record::SampleInterval sampling;
};

// What is known of a process with the agent in it.
enum class Origin : std::uint32_t {
  forked,    // from one that is attached to; so the kernel leaves it
  linking,   // the same, while its first heap call decides whether it is recorded
  linked,    // it is, or never will be
  attached,  // by the attaching program
};

// Zeroed by the kernel in a fork child, which then only forwards, or is recorded from its first heap call on.
struct alignas(4096) WipedOnFork {
  std::uint64_t is_active;
  std::atomic<Origin> origin;
  Thread threads[max_threads];
};

// A part of session::max_lanes, because each thread needs an entry above.
inline constexpr std::uint32_t max_lanes = max_threads;
// The part of a session that a process maps: its control part and its first block, up to the end of these
// lanes.
inline constexpr std::uint64_t mapped_bytes = session::process_offset(0) +
                                              offsetof(session::ProcessBlock, lanes) +
                                              max_lanes * std::uint64_t{sizeof(session::Lane)};
// Followed by private memory of the process: the set of sampled blocks, empty at first.
struct alignas(4096) SampledMemory {
  record::SampleSlots slots;
  record::SamplesAlike alike;
  record::SamplePages pages;
};
// By thread entry: the last stacks. Not in the lane, which may be unmapped while a thread uses it.
struct alignas(64) StackMemory {
  std::uint8_t bytes[12 * 1024];  // unwind::thread_stack_bytes() is not larger
};
// The same, for the frames of a CPython. Touched only where there is one.
struct alignas(64) PythonStackMemory {
  std::uint8_t bytes[unwind::python_stack_bytes];
};
// The part that is replaced by anonymous memory while a thread may use it, and the whole mapping.
inline constexpr std::uint64_t replaced_bytes = mapped_bytes + sizeof(SampledMemory);
inline constexpr std::uint64_t area_bytes =
    replaced_bytes + max_threads * std::uint64_t{sizeof(StackMemory) + sizeof(PythonStackMemory)};

// Made by the attaching program; near the agent, and so near the executable. A larger one is left out.
struct alignas(64) FrameTable {
  std::uint8_t bytes[2 << 20];
};

// Where libc keeps the thread pointer itself.
inline constexpr std::uint64_t own_address_offset = 0x10;

struct RecordingAgent {
  agent::Agent common{};  // and the first allocator
  agent::Agent second{};  // only what an allocator has; all zero: there is none
  // By Entry: where the second allocator's functions begin. Its blocks' stacks begin there, and so their
  // allocator is known.
  std::uint64_t second_functions[agent::entry_count]{};
  session::Control* control{};
  session::ProcessBlock* block{};
  SampledMemory* sampled{};
  StackMemory* stacks{};
  PythonStackMemory* python_stacks{};  // nullptr: stacks have no frames of a CPython
  unwind::Interpreter interpreter{};
  // Offset from the thread pointer of the thread's id; own_address_offset: of 4 bytes that differ between
  // most successive threads with the same thread pointer.
  std::uint64_t identity_offset{};
  // The loader's function; nullptr: libc has none.
  int (*find_object)(void*, void*){};
  // The executable's program headers.
  std::uint64_t headers{};
  std::uint64_t header_count{};
  std::uint64_t entry{};   // where it begins
  std::uint64_t loader{};  // where the loader begins; 0: there is none
  // A static program without a table of its unwind information: the one in FrameTable; 0: not needed, or
  // none.
  std::uint64_t frame_table{};
  std::uint64_t frame_table_bytes{};
  void* stack_end{};
  // A call from the allocator's code during a real call is the allocator's own; so is one that returns to the
  // agent: the allocator continued by a jump.
  std::uint64_t allocator_code{};
  std::uint64_t allocator_code_bytes{};
  std::uint64_t second_code{};  // the second allocator may call the first one's as well
  std::uint64_t second_code_bytes{};
  std::uint64_t agent_code{};
  std::uint64_t agent_code_bytes{};
  // Whoever maps memory from there is libc itself, such as for a thread's stack.
  std::uint64_t libc_code{};
  std::uint64_t libc_code_bytes{};
  // Where sessions are mapped, alternating: a thread may still write to the previous one. 0: not mapped yet.
  std::uint64_t areas[2]{};
  // Threads in the agent after a dlclose.
  std::uint64_t threads_unloading{};
  // What images need that are to be recorded; told while the process runs, so it counts only once
  // has_images is set.
  std::uint32_t has_images{};
  // The process may have a seccomp filter, or get one unseen: its children are left alone.
  std::uint32_t is_filtered{};
  char library[512]{};
  char session[512]{};
  char session_name[16]{};  // only for the system call that creates it
  // By lane: even if it may be taken once its thread has ended, odd while it is taken or was never used.
  std::uint32_t claims[max_lanes]{};
};

}  // namespace heapwright::attach::recorder
