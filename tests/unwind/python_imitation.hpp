// SPDX-License-Identifier: MIT
// A CPython of each known version, imitated for tests: objects of its layout, and native frames that run its
// frames.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "unwind/interpreter.hpp"
#include "unwind/loaded_objects.hpp"
#include "unwind/python_frames.hpp"
#include "unwind/python_layout.hpp"
#include "unwind/stack_bounds.hpp"
#include "witness.hpp"

// Of the section that stands for _PyEval_EvalFrameDefault.
extern "C" const char __start_loop_code[], __stop_loop_code[];

namespace heapwright::unwind::test {

// Memory of an object of the interpreter.
class Object {
 public:
  Object(std::size_t bytes, std::uint64_t type) : words_((bytes + 7) / 8) {
    put(python::object_references, 1);
    put(python::object_type, type);
  }
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(words_.data()); }
  void put(std::uint64_t offset, std::uint64_t value) { std::memcpy(bytes() + offset, &value, sizeof value); }
  unsigned char* bytes() { return reinterpret_cast<unsigned char*>(words_.data()); }

 private:
  std::vector<std::uint64_t> words_;
};

inline constexpr std::uint64_t code_type = 0x1000;
inline constexpr std::uint64_t text_type = 0x2000;
inline constexpr std::uint64_t bytes_type = 0x3000;
inline constexpr std::uint64_t thread_state_bytes = 512;

using python::Layout;
using python::Loops;

inline Object text(const Layout& of, const std::string& characters) {
  Object made(of.ascii_bytes + characters.size() + 1, text_type);
  made.put(python::text_length, characters.size());
  made.put(python::text_state, 1 << 2 | 1 << 6 | of.text_flags);
  std::memcpy(made.bytes() + of.ascii_bytes, characters.data(), characters.size());
  return made;
}

template <typename Character>
Object wide_text(const Layout& of, const std::basic_string<Character>& characters) {
  Object made(of.compact_bytes + (characters.size() + 1) * sizeof(Character), text_type);
  made.put(python::text_length, characters.size());
  made.put(python::text_state, sizeof(Character) << 2 | of.text_flags);
  std::memcpy(made.bytes() + of.compact_bytes, characters.data(), characters.size() * sizeof(Character));
  return made;
}

// Line i of a code object begins at its instruction i.
inline std::vector<unsigned char> lines_of(python::Lines kind) {
  std::vector<unsigned char> table;
  if (kind == python::Lines::locations) table = {0x80 | 13 << 3, 0};
  if (kind == python::Lines::ranges) table = {2, 0};
  for (int i = 1; i < 16; ++i) {
    if (kind == python::Lines::locations) {
      table.insert(table.end(), {0x80 | 11 << 3, 0, 0});
    } else {
      table.insert(table.end(), {2, 1});
    }
  }
  return table;
}

struct Code {
  Code(const Layout& of, const std::string& called, const std::string& file, std::uint32_t first_line)
      : layout(of),
        name(text(of, called)),
        path(text(of, file)),
        lines(python::bytes_content + 64, bytes_type),
        object(256 + 64, code_type) {
    const std::vector<unsigned char> table = lines_of(of.lines);
    std::memcpy(lines.bytes() + python::bytes_content, table.data(), table.size());
    lines.put(python::object_size, table.size());
    object.put(of.code_first_line, first_line);
    object.put(of.code_name, name.address());
    object.put(of.code_file, path.address());
    object.put(of.code_line_table, lines.address());
  }
  // As a frame has it: the address, or the number (of 3.9: of the byte).
  std::uint64_t in_frame(std::uint64_t unit) const {
    if (layout.code_instructions != 0) return instruction(unit);
    return layout.lines == python::Lines::steps ? 2 * unit : unit;
  }
  // As it is looked up.
  std::uint64_t instruction(std::uint64_t unit) const {
    if (layout.code_instructions == 0) return object.address() + in_frame(unit);
    return object.address() + layout.code_instructions + unit * 2;
  }
  const Layout& layout;
  Object name, path, lines, object;
};

// What a native frame of the interpreter has on the stack.
struct Loop {
  std::uint64_t cframe[3];
  std::uint64_t entry[python::entry_bytes / 8 + 1];
};

inline std::uint64_t address_of(const std::uint64_t* words) { return reinterpret_cast<std::uint64_t>(words); }

inline void* state_of_this_thread;

class PythonFrames;
std::uint32_t run_own_loop(PythonFrames& frames, std::size_t index);

class PythonFrames : public ::testing::TestWithParam<Layout> {
 public:
  PythonFrames() : runtime(2048, 0), state(thread_state_bytes, 0), tables(new session::PythonTables{}) {
    interpreter.runtime = runtime.address();
    interpreter.layout = layout;
    interpreter.code_type = code_type;
    interpreter.text_type = text_type;
    interpreter.bytes_type = bytes_type;
    interpreter.loop_begin = reinterpret_cast<std::uint64_t>(__start_loop_code);
    interpreter.loop_bytes = static_cast<std::uint64_t>(__stop_loop_code - __start_loop_code);
    interpreter.own_thread_state = [] { return state_of_this_thread; };
    interpreter.tables = tables.get();
    runtime.put(layout.is_begun, 1);
    state.put(layout.thread_id, reinterpret_cast<std::uint64_t>(__builtin_thread_pointer()));
    state.put(layout.thread_frames, outermost());
    if (layout.loops == Loops::cframe_each) state.put(layout.thread_cframe, root_cframe());
    state_of_this_thread = reinterpret_cast<void*>(state.address());
    process.tables().interpreter = &interpreter;
    announce_interpreter();
    stack = begin_thread(process.tables(), memory, python_memory);
  }

  bool has_entries() const { return layout.loops >= Loops::entries_behind_cframe; }
  // Each frame is run by a native one of its own.
  bool has_own_loops() const { return layout.loops <= Loops::cframe_each; }
  std::uint64_t root_cframe() const { return state.address() + layout.thread_root_cframe; }
  // The thread's frames while it runs none.
  std::uint64_t outermost() const {
    if (layout.loops == Loops::cframes) return root_cframe();
    return layout.loops == Loops::entries_behind_cframe ? address_of(no_frame) : 0;
  }

  // An outermost frame of a loop gets an entry for its caller when the loop runs.
  Object& push(const Code& code, std::uint64_t unit, std::uint64_t caller, bool is_outermost) {
    Object& frame = frames.emplace_back(128, 0);
    callers.push_back(caller);
    frame.put(layout.frame_code, code.object.address());
    frame.put(layout.frame_previous, caller);
    frame.put(layout.frame_instruction, code.in_frame(unit));
    if (layout.loops == Loops::cframes) frame.bytes()[layout.frame_owner] = is_outermost ? 1 : 0;
    return frame;
  }

  [[gnu::noinline]] std::uint32_t capture_here() {
    const std::uint32_t node = capture(process.tables(), *stack, __builtin_frame_address(0));
    asm volatile("");
    return node;
  }

  // Something between the interpreter and the hook.
  [[gnu::noinline]] std::uint32_t allocate() {
    const std::uint32_t node = capture_here();
    asm volatile("");
    return node;
  }

  // "function:line" of the Python frames, innermost first; "." for the native frames between them.
  std::string shown(std::uint32_t node) {
    std::string found;
    while (node != 0) {
      const std::uint64_t word = process.block().nodes[node].load();
      const auto number = static_cast<std::uint32_t>(word) - 1;
      node = static_cast<std::uint32_t>(word >> 32);
      if (number >= session::first_python_frame) {
        found += named(number - session::first_python_frame) + " ";
      } else if (number == session::mark_too_deep) {
        found += "… ";
      } else if (!found.ends_with(". ")) {
        found += ". ";
      }
    }
    return found;
  }

  std::string named(std::uint32_t slot) const {
    const std::uint64_t place = tables->positions[slot].place.load();
    const session::PythonFunction& function = tables->functions[(place >> 32) - 1];
    return std::string(function.name) + ":" + std::to_string(static_cast<std::uint32_t>(place));
  }

  // As _PyEval_EvalFrameDefault begins. `first`: the outermost frame of the loop.
  void begin(Loop& loop, const Loop* caller, std::size_t first, std::size_t current) {
    loop = {};
    if (has_entries()) {
      reinterpret_cast<unsigned char*>(loop.entry)[layout.frame_owner] = python::owned_by_interpreter;
      loop.entry[layout.frame_previous / 8] = callers[first];
      frames[first].put(layout.frame_previous, address_of(loop.entry));
    } else {
      loop.cframe[2] = caller == nullptr ? outermost() : address_of(caller->cframe);
      frames[first].put(layout.frame_previous, callers[first]);
    }
    run_frame(loop, frames[current].address());
    const bool is_by_cframe = layout.loops != Loops::entries;
    if (is_by_cframe) state.put(layout.thread_frames, address_of(loop.cframe));
  }

  void run_frame(Loop& loop, std::uint64_t frame) {
    if (layout.loops == Loops::cframes) {
      loop.cframe[1] = frame;
    } else if (layout.loops == Loops::entries_behind_cframe) {
      loop.cframe[0] = frame;
    } else {
      state.put(layout.thread_frames, frame);
    }
  }

  // "a b . c" as it is shown where there is a native frame between any two.
  std::string expected(const std::string& shown) const {
    if (!has_own_loops()) return shown;
    std::string made;
    std::istringstream words(shown);
    for (std::string word; words >> word;) {
      if (!made.empty() && word != "." && !made.ends_with(". ")) made += ". ";
      made += word + " ";
    }
    return made;
  }

  // An eval loop that runs two frames, and calls another; or one for each frame.
  [[gnu::noinline]] std::uint32_t outer_loop() {
    if (has_own_loops()) return run_own_loop(*this, 0);
    Loop loop;
    begin(loop, nullptr, 0, outer_frame);
    outer = &loop;
    const std::uint32_t node = inner_loop();
    state.put(layout.thread_frames, outermost());
    return node;
  }

  [[gnu::noinline]] std::uint32_t inner_loop() {
    Loop loop;
    begin(loop, outer, outer_frame + 1, outer_frame + 1);
    inner = &loop;
    if (meddle) meddle();
    const std::uint32_t node = allocate();
    asm volatile("" ::"r"(&loop) : "memory");
    return node;
  }

  // main → handle, natively called back: leaf.
  void push_three() {
    push(main_code, 3, 0, true);
    push(handle_code, 4, frames[0].address(), false);
    push(leaf_code, 0, frames[1].address(), true);
  }

  std::vector<std::function<void()>> broken_own_loops() {
    std::vector<std::function<void()>> breaks{
        [&] { state.put(layout.thread_frames, 12); },
        [&] { state.put(layout.thread_frames, 0); },
        [&] { state.put(layout.thread_frames, frames[1].address()); },
        [&] { frames[2].put(layout.frame_previous, frames[0].address()); },
        [&] { frames[1].put(layout.frame_previous, 0); },
        [&] { frames[0].put(layout.frame_previous, frames[2].address()); },
    };
    if (layout.loops == Loops::counted) return breaks;
    breaks.insert(breaks.end(), {
                                    [&] { state.put(layout.thread_cframe, 12); },
                                    [&] { state.put(layout.thread_cframe, root_cframe()); },
                                    [&] { own_cframe[layout.cframe_previous / 8] = 0; },
                                    [&] { own_cframe[layout.cframe_previous / 8] += 4; },
                                    [&] { own_cframe[layout.cframe_previous / 8] = address_of(own_cframe); },
                                });
    return breaks;
  }

  std::vector<std::function<void()>> broken_cframes() {
    return {
        [&] { inner->cframe[1] = 0; },
        [&] { inner->cframe[1] += 4; },
        [&] { inner->cframe[2] = 0; },
        [&] { inner->cframe[2] = address_of(inner->cframe); },
        [&] { inner->cframe[2] += 4; },
        [&] { state.put(layout.thread_frames, 8); },
        [&] { state.put(layout.thread_frames, address_of(inner->cframe) + 4); },
        [&] { frames[2].put(layout.frame_previous, frames[0].address()); },
        [&] { frames[1].put(layout.frame_previous, 0); },
    };
  }

  std::vector<std::function<void()>> broken_entries() {
    const std::uint64_t of_caller = layout.frame_previous / 8;
    return {
        [&] { run_frame(*inner, frames[2].address() + 4); },
        [&] { run_frame(*inner, 8); },
        [&] { state.put(layout.thread_frames, 12); },
        [&] { frames[2].put(layout.frame_previous, 0); },
        [&] { frames[2].put(layout.frame_previous, address_of(outer->entry) + 4); },
        [&] { frames[1].put(layout.frame_previous, 0); },
        [&] { frames[0].put(layout.frame_previous, address_of(inner->entry)); },
        [&] { reinterpret_cast<unsigned char*>(outer->entry)[layout.frame_owner] = 0; },
        [&, of_caller] { inner->entry[of_caller] = address_of(inner->entry); },
        [&, of_caller] { outer->entry[of_caller] = frames[2].address(); },
    };
  }

  const Layout layout = GetParam();
  TestProcess process;
  Object runtime;
  Object state;
  std::uint64_t no_frame[2] = {};
  std::unique_ptr<session::PythonTables> tables;
  Interpreter interpreter;
  std::deque<Object> frames;
  std::vector<std::uint64_t> callers;
  std::size_t outer_frame = 1;  // the one that calls the inner loop
  Code main_code{layout, "main", "app.py", 10};
  Code handle_code{layout, "Service.handle", "app.py", 20};
  Code leaf_code{layout, "leaf", "app.py", 30};
  std::function<void()> meddle;
  Loop* outer = nullptr;
  Loop* inner = nullptr;
  std::uint64_t* own_cframe = nullptr;  // of the innermost loop
  ThreadStack* stack = nullptr;
  alignas(64) unsigned char memory[14 * 1024] = {};
  alignas(64) unsigned char python_memory[python_stack_bytes] = {};
};

}  // namespace heapwright::unwind::test
