// SPDX-License-Identifier: MIT
// A CPython in the process whose frames can be read.
#pragma once

#include <cstdint>

#include "session/layout.hpp"
#include "unwind/python_layout.hpp"

namespace heapwright::unwind {

// Plain data: a process that is attached to gets it from the attaching program.
struct Interpreter {
  std::uint64_t runtime = 0;  // _PyRuntime
  // What these types' objects point to.
  std::uint64_t code_type = 0;
  std::uint64_t text_type = 0;
  std::uint64_t bytes_type = 0;
  // _PyEval_EvalFrameDefault
  std::uint64_t loop_begin = 0;
  std::uint64_t loop_bytes = 0;
  python::Layout layout{};
  void* (*own_thread_state)() = nullptr;  // PyGILState_GetThisThreadState: reads what the thread has stored
  // Set last; nullptr: stacks have no frames of it.
  session::PythonTables* tables = nullptr;

  session::PythonTables* own_tables() const { return __atomic_load_n(&tables, __ATOMIC_ACQUIRE); }
};

}  // namespace heapwright::unwind
