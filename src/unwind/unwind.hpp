// SPDX-License-Identifier: MIT
// Captures call stacks without frame pointers, inside a heap hook.
//
// capture() walks the calling thread's stack by the compiler's unwind tables (.eh_frame), with one compact
// rule per program counter. It reuses the part of the thread's previous stack that provably did not change,
// and interns the changed frames into the shared node table (session/layout.hpp).
//
// Takes no lock, allocates nothing, writes nothing to the program's stack, never calls libgcc or
// dl_iterate_phdr. On the thread's own stack it makes no system call once that stack is known; on any other
// (sigaltstack, coroutine) one cheap call per page asks whether the page is readable, except in a confined
// process, where such a stack is cut. Every load is bounded; a stack that cannot be followed ends in a
// visible mark instead of a guess. Through code without tables the walk goes on by its frame pointers, where
// they verify (return_address.hpp), and a mark says so.
//
//   capture ─ step ─ stack_bounds       one frame outwards, loads that cannot fault
//      ├───── pc_table ─ loaded_objects ─ call_frame_rules ─ call_frame_program
//      ├───── return_address            code without tables: its prologue, the call before a return address
//      │                                a new pc: its object, FDE, rule
//      ├───── node_table                frames to a number
//      └───── python_frames ─ python_names   those of a CPython, among the native ones
#pragma once

#include <cstddef>
#include <cstdint>

#include "unwind/tables.hpp"

namespace heapwright::unwind {

// What capture() keeps per thread between calls. All zero is a valid initial state. Stored in
// Lane::recorder_state.
struct ThreadStack;
std::size_t thread_stack_bytes() noexcept;  // <= 14 KiB

// Prepares `memory` (thread_stack_bytes(), zeroed) for the calling thread. `python_memory`:
// python_stack_bytes (unwind/python_frames.hpp), not touched without a CPython; nullptr: stacks have no
// frames of one.
ThreadStack* begin_thread(const Tables& tables, void* memory, void* python_memory = nullptr) noexcept;

// Captures the stack of the hook whose frame address (__builtin_frame_address(0), a frame with a frame
// pointer: [fp] = caller's rbp, [fp+8] = return address) is `hook_frame`; the first frame is the hook's
// caller. Returns the node id (session/layout.hpp), never 0. Keeps errno.
// Cost: usually 30-65 ns; +0.5-1.4 us once per new program counter.
// Thread-safety: any number of threads, each with its own ThreadStack; not reentrant for one ThreadStack.
std::uint32_t capture(const Tables& tables, ThreadStack& stack, const void* hook_frame) noexcept;

// The same without frames of a CPython: mappings are made by the interpreter, for objects of many functions,
// and taken back while its frames change.
std::uint32_t capture_native(const Tables& tables, ThreadStack& stack, const void* hook_frame) noexcept;

// Must be called after a dlclose: invalidates the program counters and rules of objects that are gone and
// marks their modules as unloaded.
void forget_unloaded(const Tables& tables) noexcept;

}  // namespace heapwright::unwind
