// SPDX-License-Identifier: MIT
// Where CPython keeps what its frames are read from, by version; in bytes. tests/unwind compares it with the
// headers of each version that is installed. A version that is missing here is not read, rather than guessed.
#pragma once

#include <cstdint>
#include <cstring>

namespace heapwright::unwind::python {

// How it is told which native frame runs which Python frames.
enum class Loops : std::uint8_t {
  // Each _PyEval_EvalFrameDefault runs one frame: the native frames in that function, in their order.
  counted,
  // The same, and each has a CFrame in its stack frame; these are a list.
  cframe_each,
  // Each has a _PyCFrame and runs several frames. A flag of the outermost one ends those of one loop.
  cframes,
  // Each has an entry of the list of frames in its stack frame. The first frame is found by a _PyCFrame.
  entries_behind_cframe,
  // The same, and the thread's state has the first frame.
  entries,
};

// How a code object's table gives lines.
enum class Lines : std::uint8_t {
  steps,      // co_lnotab of 3.9: where the line changes
  ranges,     // co_linetable of 3.10
  locations,  // of 3.11 and later
};

struct Layout {
  std::uint64_t first_version;  // by Py_Version
  std::uint64_t end_version;
  Loops loops;
  Lines lines;
  // _PyRuntimeState
  std::uint64_t is_begun;    // 32 bits: there may be thread states
  std::uint64_t finalizing;  // the thread that ends the interpreter
  // PyThreadState
  std::uint64_t thread_id;
  std::uint64_t thread_frames;      // a _PyCFrame's address, or the first frame's
  std::uint64_t thread_cframe = 0;  // cframe_each: the innermost CFrame
  std::uint64_t thread_root_cframe = 0;
  // _PyCFrame
  std::uint64_t cframe_current = 0;
  std::uint64_t cframe_previous = 0;
  // _PyInterpreterFrame
  std::uint64_t frame_code;  // bit 0 is not of the address
  std::uint64_t frame_previous;
  std::uint64_t frame_owner = 0;    // a byte: owner; of cframes: whether it is the outermost one of its loop
  std::uint64_t frame_instruction;  // its address; before 3.11 a number of 32 bits
  // PyCodeObject
  std::uint64_t code_consts;
  std::uint64_t code_names;
  std::uint64_t code_first_line;
  std::uint64_t code_file;
  std::uint64_t code_name;  // qualified, since 3.11
  std::uint64_t code_line_table;
  std::uint64_t code_instructions = 0;  // 0: they are in an object of their own
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

inline constexpr std::uint64_t cframe_bytes = 16;  // at least
inline constexpr std::uint64_t entry_bytes = 80;   // of a _PyInterpreterFrame before its locals, at least
inline constexpr std::uint64_t owned_by_interpreter = 3;

// PyObject, PyVarObject, PyBytesObject
inline constexpr std::uint64_t object_references = 0;  // of 3.14 only 32 bits
inline constexpr std::uint64_t object_type = 8;
inline constexpr std::uint64_t object_size = 16;
inline constexpr std::uint64_t bytes_content = 32;

// PyASCIIObject
inline constexpr std::uint64_t text_length = 16;
// Bits 2-4 kind, 5 is_compact, 6 is_ascii, 7 until 3.11 is_ready.
inline constexpr std::uint64_t text_state = 32;

inline constexpr std::uint64_t version_3_9 = 0x030900f0;
inline constexpr std::uint64_t version_3_10 = 0x030a00f0;

inline constexpr Layout layouts[] = {
    {.first_version = version_3_9,
     .end_version = 0x030a0000,
     .loops = Loops::counted,
     .lines = Lines::steps,
     .is_begun = 8,
     .finalizing = 16,
     .thread_id = 176,
     .thread_frames = 24,
     .frame_code = 32,
     .frame_previous = 24,
     .frame_instruction = 104,
     .code_consts = 56,
     .code_names = 64,
     .code_first_line = 40,
     .code_file = 104,
     .code_name = 112,
     .code_line_table = 120,
     .ascii_bytes = 48,
     .compact_bytes = 72,
     .text_flags = 1 << 5 | 1 << 7},
    {.first_version = version_3_10,
     .end_version = 0x030b0000,
     .loops = Loops::cframe_each,
     .lines = Lines::ranges,
     .is_begun = 8,
     .finalizing = 16,
     .thread_id = 176,
     .thread_frames = 24,
     .thread_cframe = 48,
     .thread_root_cframe = 264,
     .cframe_previous = 8,
     .frame_code = 32,
     .frame_previous = 24,
     .frame_instruction = 96,
     .code_consts = 56,
     .code_names = 64,
     .code_first_line = 40,
     .code_file = 104,
     .code_name = 112,
     .code_line_table = 120,
     .ascii_bytes = 48,
     .compact_bytes = 72,
     .text_flags = 1 << 5 | 1 << 7},
    // Since 3.11.1 a frame is unlinked before it is cleared, so that each linked frame, and its code, is
    // whole
    // at every call out of the interpreter.
    {.first_version = 0x030b0200,
     .end_version = 0x030c0000,
     .loops = Loops::cframes,
     .lines = Lines::locations,
     .is_begun = 12,
     .finalizing = 24,
     .thread_id = 152,
     .thread_frames = 56,
     .thread_root_cframe = 336,
     .cframe_current = 8,
     .cframe_previous = 16,
     .frame_code = 32,
     .frame_previous = 48,
     .frame_owner = 68,
     .frame_instruction = 56,
     .code_consts = 24,
     .code_names = 32,
     .code_first_line = 72,
     .code_file = 112,
     .code_name = 128,
     .code_line_table = 136,
     .code_instructions = 184,
     .ascii_bytes = 48,
     .compact_bytes = 72,
     .text_flags = 1 << 5 | 1 << 7},
    {.first_version = 0x030c00f0,
     .end_version = 0x030d0000,
     .loops = Loops::entries_behind_cframe,
     .lines = Lines::locations,
     .is_begun = 12,
     .finalizing = 24,
     .thread_id = 136,
     .thread_frames = 56,
     .frame_code = 0,
     .frame_previous = 8,
     .frame_owner = 70,
     .frame_instruction = 56,
     .code_consts = 24,
     .code_names = 32,
     .code_first_line = 68,
     .code_file = 112,
     .code_name = 128,
     .code_line_table = 136,
     .code_instructions = 192,
     .ascii_bytes = 40,
     .compact_bytes = 56,
     .text_flags = 1 << 5},
    {.first_version = 0x030d00f0,
     .end_version = 0x030e0000,
     .loops = Loops::entries,
     .lines = Lines::locations,
     .is_begun = 596,
     .finalizing = 608,
     .thread_id = 152,
     .thread_frames = 72,
     .frame_code = 0,
     .frame_previous = 8,
     .frame_owner = 70,
     .frame_instruction = 56,
     .code_consts = 24,
     .code_names = 32,
     .code_first_line = 68,
     .code_file = 112,
     .code_name = 128,
     .code_line_table = 136,
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
     .lines = Lines::locations,
     .is_begun = 772,
     .finalizing = 784,
     .thread_id = 152,
     .thread_frames = 72,
     .frame_code = 0,
     .frame_previous = 8,
     .frame_owner = 74,
     .frame_instruction = 56,
     .code_consts = 24,
     .code_names = 32,
     .code_first_line = 68,
     .code_file = 112,
     .code_name = 128,
     .code_line_table = 136,
     .code_instructions = 208,
     .ascii_bytes = 40,
     .compact_bytes = 56,
     .text_flags = 1 << 5,
     .stated_thread = 22,
     .stated_frame = 31,
     .stated_code = 39,
     .stated_object = 50},
};

inline constexpr std::uint64_t most_stated_words = 128;

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
         frame[3] == layout.frame_instruction && frame[5] == layout.frame_owner &&
         code[1] == layout.code_file && code[3] == layout.code_name && code[4] == layout.code_line_table &&
         code[5] == layout.code_first_line && code[9] == layout.code_instructions && object[1] == object_type;
}

// `runtime`: the first most_stated_words of _PyRuntime, which has `bytes`. nullptr: not known.
inline const Layout* find_layout(std::uint64_t version, const std::uint64_t* runtime,
                                 std::uint64_t bytes) noexcept {
  for (const Layout& layout : layouts) {
    if (version < layout.first_version || version >= layout.end_version) continue;
    return bytes > layout.finalizing + sizeof *runtime && agrees(layout, runtime) ? &layout : nullptr;
  }
  return nullptr;
}

}  // namespace heapwright::unwind::python
