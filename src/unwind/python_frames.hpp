// SPDX-License-Identifier: MIT
// The frames of a CPython among the native ones of a stack.
//
// A thread's native stack is captured as usual. Then, in a process with a CPython, its Python frames are read
// and both are interned once more, in one chain: behind the native frame of each _PyEval_EvalFrameDefault
// those Python frames that it runs. Which these are is told by what the interpreter has in that native frame
// and in its list of frames (python_layout.hpp).
//
// Nothing is read that does not belong to the calling thread, and no lock of the interpreter is needed: while
// a thread is in the hook, its own frames stay as they are. What was interrupted by a signal may be half
// made, so stacks with a signal frame have no Python frames.
//
// Outer frames are the same as at the last capture if each still has its code object, its instruction and its
// caller: only what changed is looked up.
#pragma once

#include <cstddef>
#include <cstdint>

#include "unwind/interpreter.hpp"
#include "unwind/tables.hpp"

namespace heapwright::unwind {

struct ThreadStack;

// The calling thread's memory for this, beside its ThreadStack. Need not be zeroed.
struct PythonStack;
inline constexpr std::size_t python_stack_bytes = 14 * 1024;

// `node`: of the native stack in `stack`, captured just now; `stack_pointer`: of its innermost frame. Returns
// it, or the node of the same stack with Python frames.
std::uint32_t add_python_frames(const Tables& tables, ThreadStack& stack, std::uint64_t stack_pointer,
                                std::uint32_t node) noexcept;

}  // namespace heapwright::unwind
