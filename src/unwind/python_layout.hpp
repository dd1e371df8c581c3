// SPDX-License-Identifier: MIT
// Where CPython keeps what its frames are read from, by version; in bytes. tests/unwind compares it with the
// headers of each version that is installed. A version that is missing here is not read, rather than guessed.
#pragma once

#include <cstdint>
#include <cstring>

namespace heapwright::unwind::python {

// How it is told which native frame runs which Python frames.
enum class Loops : std::uint8_t {
  // Each _PyEval_EvalFrameDefault has a _PyCFrame in its stack frame, and these are a list. A flag of the
  // Python frame ends those of one.
  cframes,
  // Each has the entry of a list of frames in its stack frame, and the first frame is found by a _PyCFrame.
  entries_behind_cframe,
  // The same, and the thread's state has the first frame.
  entries,
};

struct Layout {
  std::uint64_t first_version;  // by Py_Version
  std::uint64_t end_version;
  Loops loops;
  // _PyRuntimeState
  std::uint64_t is_begun;    // 32 bits: there may be thread states
  std::uint64_t finalizing;  // the thread that ends the interpreter
  // PyThreadState
  std::uint64_t thread_id;
  std::uint64_t thread_frames;  // a _PyCFrame's address, or the first frame's
  // _PyInterpreterFrame
  std::uint64_t frame_code;  // bit 0 is not of the address
  std::uint64_t frame_previous;
  std::uint64_t frame_owner;  // a byte: owner; of cframes: whether it is the outermost one of its loop
  // PyCodeObject
  std::uint64_t code_first_line;
  std::uint64_t code_instructions;
  // PyASCIIObject, PyCompactUnicodeObject: characters follow the header.
  std::uint64_t ascii_bytes;
  std::uint64_t compact_bytes;
  std::uint32_t text_flags;  // these have to be set in its state
  // _Py_DebugOffsets, words from the start of _PyRuntime to the sizes of these; 0: has none.
  std::uint8_t stated_thread = 0;
  std::uint8_t stated_frame = 0;
  std::uint8_t stated_code = 0;
  std::uint8_t stated_object = 0;
};

// _PyCFrame
inline constexpr std::uint64_t thread_root_cframe = 336;  // in PyThreadState of 3.11
inline constexpr std::uint64_t cframe_current = 8;        // of 3.11; 3.12 has it at 0
inline constexpr std::uint64_t cframe_previous = 16;
inline constexpr std::uint64_t cframe_bytes = 24;

// The same in each version: _PyInterpreterFrame
inline constexpr std::uint64_t frame_instruction = 56;
inline constexpr std::uint64_t entry_bytes = 80;  // an entry has at least the fields before its locals
inline constexpr std::uint64_t owned_by_interpreter = 3;

// PyObject, PyVarObject, PyBytesObject
inline constexpr std::uint64_t object_references = 0;  // of 3.14 only 32 bits
inline constexpr std::uint64_t object_type = 8;
inline constexpr std::uint64_t object_size = 16;
inline constexpr std::uint64_t bytes_content = 32;

// PyCodeObject
inline constexpr std::uint64_t code_consts = 24;
inline constexpr std::uint64_t code_names = 32;
inline constexpr std::uint64_t code_file = 112;
inline constexpr std::uint64_t code_qualified_name = 128;
inline constexpr std::uint64_t code_line_table = 136;
inline constexpr std::uint64_t instruction_bytes = 2;

// PyASCIIObject
inline constexpr std::uint64_t text_length = 16;
inline constexpr std::uint64_t text_state =
    32;  // bits 2-4 kind, 5 is_compact, 6 is_ascii, 7 of 3.11 is_ready

inline constexpr Layout layouts[] = {
    // Since 3.11.1 a frame is unlinked before it is cleared, so that each linked frame, and its code, is
    // whole
    // at every call out of the interpreter.
    {.first_version = 0x030b0200,
     .end_version = 0x030c0000,
     .loops = Loops::cframes,
     .is_begun = 12,
     .finalizing = 24,
     .thread_id = 152,
     .thread_frames = 56,
     .frame_code = 32,
     .frame_previous = 48,
     .frame_owner = 68,
     .code_first_line = 72,
     .code_instructions = 184,
     .ascii_bytes = 48,
     .compact_bytes = 72,
     .text_flags = 1 << 5 | 1 << 7},
    {.first_version = 0x030c00f0,
     .end_version = 0x030d0000,
     .loops = Loops::entries_behind_cframe,
     .is_begun = 12,
     .finalizing = 24,
     .thread_id = 136,
     .thread_frames = 56,
     .frame_code = 0,
     .frame_previous = 8,
     .frame_owner = 70,
     .code_first_line = 68,
     .code_instructions = 192,
     .ascii_bytes = 40,
     .compact_bytes = 56,
     .text_flags = 1 << 5},
    {.first_version = 0x030d00f0,
     .end_version = 0x030e0000,
     .loops = Loops::entries,
     .is_begun = 596,
     .finalizing = 608,
     .thread_id = 152,
     .thread_frames = 72,
     .frame_code = 0,
     .frame_previous = 8,
     .frame_owner = 70,
     .code_first_line = 68,
     .code_instructions = 200,
     .ascii_bytes = 40,
     .compact_bytes = 56,
     .text_flags = 1 << 5,
     .stated_thread = 19,
     .stated_frame = 28,
     .stated_code = 34,
     .stated_object = 44},
    {.first_version = 0x030e00f0,
     .end_version = 0x030f0000,
     .loops = Loops::entries,
     .is_begun = 772,
     .finalizing = 784,
     .thread_id = 152,
     .thread_frames = 72,
     .frame_code = 0,
     .frame_previous = 8,
     .frame_owner = 74,
     .code_first_line = 68,
     .code_instructions = 208,
     .ascii_bytes = 40,
     .compact_bytes = 56,
     .text_flags = 1 << 5,
     .stated_thread = 22,
     .stated_frame = 31,
     .stated_code = 39,
     .stated_object = 50},
};

// Whether a runtime says of itself, since 3.13, that it is laid out so. Of free-threaded builds it is not.
inline bool agrees(const Layout& layout, const std::uint64_t* stated) noexcept {
  if (layout.stated_thread == 0) return true;
  const std::uint64_t* const thread = stated + layout.stated_thread;
  const std::uint64_t* const frame = stated + layout.stated_frame;
  const std::uint64_t* const code = stated + layout.stated_code;
  const std::uint64_t* const object = stated + layout.stated_object;
  const bool is_free_threaded = stated[2] != 0;
  return std::memcmp(stated, "xdebugpy", 8) == 0 && !is_free_threaded && stated[4] == layout.finalizing &&
         thread[4] == layout.thread_frames && thread[5] == layout.thread_id &&
         frame[1] == layout.frame_previous && frame[2] == layout.frame_code &&
         frame[3] == frame_instruction && frame[5] == layout.frame_owner && code[1] == code_file &&
         code[3] == code_qualified_name && code[4] == code_line_table && code[5] == layout.code_first_line &&
         code[9] == layout.code_instructions && object[1] == object_type;
}

// `runtime`: _PyRuntime, of `bytes`. nullptr: not known.
inline const Layout* find_layout(std::uint64_t version, const std::uint64_t* runtime,
                                 std::uint64_t bytes) noexcept {
  for (const Layout& layout : layouts) {
    if (version < layout.first_version || version >= layout.end_version) continue;
    return bytes > layout.finalizing + sizeof *runtime && agrees(layout, runtime) ? &layout : nullptr;
  }
  return nullptr;
}

}  // namespace heapwright::unwind::python
