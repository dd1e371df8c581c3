// SPDX-License-Identifier: MIT
// Where CPython keeps what its frames are read from. tests/unwind compares it with the interpreter's own
// headers. Another version has no entry: its frames are not read, rather than guessed.
#pragma once

#include <cstdint>

namespace heapwright::unwind::python {

// 3.11.2 to 3.11.x with a _PyRuntime of this size. Since 3.11.1 a frame is unlinked before it is cleared, so
// that each linked frame, and its code, is whole at every call out of the interpreter.
inline constexpr std::uint64_t first_version = 0x030b0200;
inline constexpr std::uint64_t end_version = 0x030c0000;
inline constexpr std::uint64_t runtime_bytes = 0x28b20;

// By its Py_Version and the size of its _PyRuntime.
constexpr bool is_known(std::uint64_t version, std::uint64_t bytes) noexcept {
  return version >= first_version && version < end_version && bytes == runtime_bytes;
}

// _PyRuntimeState
inline constexpr std::uint64_t runtime_finalizing = 24;       // the thread that ends the interpreter
inline constexpr std::uint64_t runtime_current_thread = 576;  // that has the lock
inline constexpr std::uint64_t runtime_thread_key = 592;      // Py_tss_t: is_initialized, key

// PyThreadState
inline constexpr std::uint64_t thread_cframe = 56;
inline constexpr std::uint64_t thread_root_cframe = 336;
inline constexpr std::uint64_t thread_id = 152;

// _PyCFrame: in the stack frame of each _PyEval_EvalFrameDefault, which runs several Python frames.
inline constexpr std::uint64_t cframe_current = 8;
inline constexpr std::uint64_t cframe_previous = 16;
inline constexpr std::uint64_t cframe_bytes = 24;

// _PyInterpreterFrame
inline constexpr std::uint64_t frame_code = 32;
inline constexpr std::uint64_t frame_previous = 48;
inline constexpr std::uint64_t frame_instruction = 56;
inline constexpr std::uint64_t frame_is_entry = 68;

// PyObject, PyVarObject, PyBytesObject
inline constexpr std::uint64_t object_references = 0;
inline constexpr std::uint64_t object_type = 8;
inline constexpr std::uint64_t object_size = 16;
inline constexpr std::uint64_t bytes_content = 32;

// PyCodeObject
inline constexpr std::uint64_t code_consts = 24;
inline constexpr std::uint64_t code_names = 32;
inline constexpr std::uint64_t code_first_line = 72;
inline constexpr std::uint64_t code_file = 112;
inline constexpr std::uint64_t code_qualified_name = 128;
inline constexpr std::uint64_t code_line_table = 136;
inline constexpr std::uint64_t code_instructions = 184;
inline constexpr std::uint64_t instruction_bytes = 2;

// PyASCIIObject, PyCompactUnicodeObject: characters follow the header.
inline constexpr std::uint64_t text_length = 16;
inline constexpr std::uint64_t text_state = 32;  // bits 2-4 kind, 5 is_compact, 6 is_ascii, 7 is_ready
inline constexpr std::uint64_t ascii_bytes = 48;
inline constexpr std::uint64_t compact_bytes = 72;

}  // namespace heapwright::unwind::python
