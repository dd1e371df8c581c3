// SPDX-License-Identifier: MIT
// Stacks with the frames of a CPython, which this program imitates.
// length: the imitation of an interpreter, and what is read of it
#include "unwind/python_frames.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "unwind/loaded_objects.hpp"
#include "unwind/python_layout.hpp"
#include "unwind/python_names.hpp"
#include "witness.hpp"

extern "C" {
// What the headers say (python_layout_of_headers.c); 0 words: they are not installed.
extern const std::size_t heapwright_python_3_11[], heapwright_python_3_11_count;
extern const std::size_t heapwright_python_3_12[], heapwright_python_3_12_count;
extern const std::size_t heapwright_python_3_13[], heapwright_python_3_13_count;
extern const std::size_t heapwright_python_3_14[], heapwright_python_3_14_count;
}

namespace heapwright::unwind {
namespace {

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

constexpr std::uint64_t code_type = 0x1000;
constexpr std::uint64_t text_type = 0x2000;
constexpr std::uint64_t bytes_type = 0x3000;
constexpr std::uint64_t thread_state_bytes = 512;

using python::Layout;
using python::Loops;

Object text(const Layout& of, const std::string& characters) {
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

// Instruction i is on line first_line + i.
struct Code {
  Code(const Layout& of, const std::string& called, const std::string& file, std::uint32_t first_line)
      : layout(of),
        name(text(of, called)),
        path(text(of, file)),
        lines(python::bytes_content + 64, bytes_type),
        object(of.code_instructions + 64, code_type) {
    std::vector<unsigned char> table{0x80 | 13 << 3, 0};
    for (int i = 1; i < 16; ++i) table.insert(table.end(), {0x80 | 11 << 3, 0, 0});
    std::memcpy(lines.bytes() + python::bytes_content, table.data(), table.size());
    lines.put(python::object_size, table.size());
    object.put(python::object_size, 16);
    object.put(of.code_first_line, first_line);
    object.put(python::code_qualified_name, name.address());
    object.put(python::code_file, path.address());
    object.put(python::code_line_table, lines.address());
  }
  std::uint64_t instruction(std::uint64_t unit) const {
    return object.address() + layout.code_instructions + unit * python::instruction_bytes;
  }
  const Layout& layout;
  Object name, path, lines, object;
};

// What a native frame of the interpreter has on the stack.
struct Loop {
  std::uint64_t cframe[3];
  std::uint64_t entry[python::entry_bytes / 8 + 1];
};

std::uint64_t address_of(const std::uint64_t* words) { return reinterpret_cast<std::uint64_t>(words); }

void* state_of_this_thread;

class PythonFrames : public ::testing::TestWithParam<Layout> {
 protected:
  PythonFrames() : runtime(2048, 0), state(thread_state_bytes, 0), tables(new session::PythonTables{}) {
    interpreter.runtime = runtime.address();
    interpreter.layout = layout;
    interpreter.code_type = code_type;
    interpreter.text_type = text_type;
    interpreter.bytes_type = bytes_type;
    interpreter.own_thread_state = [] { return state_of_this_thread; };
    interpreter.tables = tables.get();
    runtime.put(layout.is_begun, 1);
    state.put(layout.thread_id, reinterpret_cast<std::uint64_t>(__builtin_thread_pointer()));
    state.put(layout.thread_frames, outermost());
    state_of_this_thread = reinterpret_cast<void*>(state.address());
    process.tables().interpreter = &interpreter;
    announce_interpreter();
    stack = begin_thread(process.tables(), memory, python_memory);
  }

  bool has_entries() const { return layout.loops != Loops::cframes; }
  // The thread's frames while it runs none.
  std::uint64_t outermost() const {
    if (layout.loops == Loops::cframes) return state.address() + python::thread_root_cframe;
    return layout.loops == Loops::entries ? 0 : address_of(no_frame);
  }

  // An outermost frame of a loop gets an entry for its caller when the loop runs.
  Object& push(const Code& code, std::uint64_t unit, std::uint64_t caller, bool is_outermost) {
    Object& frame = frames.emplace_back(128, 0);
    callers.push_back(caller);
    frame.put(layout.frame_code, code.object.address());
    frame.put(layout.frame_previous, caller);
    frame.put(python::frame_instruction, code.instruction(unit));
    if (!has_entries()) frame.bytes()[layout.frame_owner] = is_outermost ? 1 : 0;
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
      } else if (!found.ends_with(". ")) {
        found += number == session::mark_too_deep ? "… " : ". ";
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

  // An eval loop that runs two frames, and calls another.
  [[gnu::noinline]] std::uint32_t outer_loop() {
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
  ThreadStack* stack = nullptr;
  alignas(64) unsigned char memory[12 * 1024] = {};
  alignas(64) unsigned char python_memory[python_stack_bytes] = {};
};

INSTANTIATE_TEST_SUITE_P(Python, PythonFrames, ::testing::ValuesIn(python::layouts),
                         [](const auto& of) { return std::string("Of") + std::to_string(of.index + 11); });

// The layout as the headers' words are in order.
std::vector<std::uint64_t> words_of(const Layout& of) {
  return {of.is_begun,         of.finalizing,         of.thread_id,
          of.thread_frames,    of.frame_code,         of.frame_previous,
          of.frame_owner,      of.code_first_line,    of.code_instructions,
          of.ascii_bytes,      of.compact_bytes,      python::frame_instruction,
          python::code_consts, python::code_names,    python::code_file,
          python::object_type, python::bytes_content, python::code_qualified_name,
          python::text_state,  python::text_length,   python::code_line_table};
}

void expect_words(const Layout& layout, const std::size_t* words, std::size_t count) {
  if (count == 0) GTEST_SKIP() << "no headers of this CPython";
  EXPECT_EQ(words_of(layout), std::vector<std::uint64_t>(words, words + count));
}

TEST(PythonLayout, IsThatOfTheHeadersOf311) {
  expect_words(python::layouts[0], heapwright_python_3_11, heapwright_python_3_11_count);
}
TEST(PythonLayout, IsThatOfTheHeadersOf312) {
  expect_words(python::layouts[1], heapwright_python_3_12, heapwright_python_3_12_count);
}
TEST(PythonLayout, IsThatOfTheHeadersOf313) {
  expect_words(python::layouts[2], heapwright_python_3_13, heapwright_python_3_13_count);
}
TEST(PythonLayout, IsThatOfTheHeadersOf314) {
  expect_words(python::layouts[3], heapwright_python_3_14, heapwright_python_3_14_count);
}

// What a runtime of this layout says of itself.
std::vector<std::uint64_t> stated(const Layout& of) {
  std::vector<std::uint64_t> words(128, 0);
  std::memcpy(words.data(), "xdebugpy", 8);
  words[4] = of.finalizing;
  const auto put = [&](std::size_t section, std::size_t field, std::uint64_t value) {
    words[section + field] = value;
  };
  put(of.stated_thread, 4, of.thread_frames);
  put(of.stated_thread, 5, of.thread_id);
  put(of.stated_frame, 1, of.frame_previous);
  put(of.stated_frame, 2, of.frame_code);
  put(of.stated_frame, 3, python::frame_instruction);
  put(of.stated_frame, 5, of.frame_owner);
  put(of.stated_code, 1, python::code_file);
  put(of.stated_code, 3, python::code_qualified_name);
  put(of.stated_code, 4, python::code_line_table);
  put(of.stated_code, 5, of.code_first_line);
  put(of.stated_code, 9, of.code_instructions);
  put(of.stated_object, 1, python::object_type);
  return words;
}

TEST(PythonLayout, OtherVersionsAreNotRead) {
  const std::vector<std::uint64_t> nothing(128, 0);
  const auto found = [&](std::uint64_t version) {
    return python::find_layout(version, nothing.data(), 1024);
  };
  EXPECT_EQ(found(0x030b02f0), &python::layouts[0]);
  EXPECT_EQ(found(0x030b0ef0), &python::layouts[0]);
  EXPECT_EQ(found(0x030b01f0), nullptr);  // frames are cleared while linked
  EXPECT_EQ(found(0x030c00f0), &python::layouts[1]);
  EXPECT_EQ(found(0x030c00b1), nullptr);  // a beta
  EXPECT_EQ(found(0x030f00f0), nullptr);
  EXPECT_EQ(python::find_layout(0x030c00f0, nothing.data(), 24), nullptr);
}

TEST(PythonLayout, OfThoseThatStateItTheStatementDecides) {
  for (const std::size_t index : {2U, 3U}) {
    const Layout& layout = python::layouts[index];
    const auto found = [&](const std::vector<std::uint64_t>& words) {
      return python::find_layout(layout.first_version, words.data(), 1024);
    };
    EXPECT_EQ(found(stated(layout)), &layout);
    std::size_t refused = 0;
    for (std::size_t word = 0; word < 128; ++word) {
      std::vector<std::uint64_t> other = stated(layout);
      other[word] += 8;
      refused += found(other) == nullptr ? 1 : 0;
    }
    EXPECT_EQ(refused, 15U) << "its name, free threads, and 13 offsets";
  }
}

TEST(PythonLines, EveryFormOfEntry) {
  const std::uint8_t table[] = {0x80 | 0 << 3 | 1, 0,                      // 2 units, the same line
                                0x80 | 12 << 3,    1,         2,           // 1, + 2
                                0x80 | 13 << 3,    3,                      // 1, - 1
                                0x80 | 14 << 3,    0x40 | 40, 1, 0, 0, 0,  // 1, + 52
                                0x80 | 15 << 3};                           // 1, no line
  const auto line = [&](std::int64_t unit) { return line_of_unit(table, sizeof table, 100, unit); };
  EXPECT_EQ(line(-1), 100U);
  EXPECT_EQ(line(0), 100U);
  EXPECT_EQ(line(1), 100U);
  EXPECT_EQ(line(2), 102U);
  EXPECT_EQ(line(3), 101U);
  EXPECT_EQ(line(4), 153U);
  EXPECT_EQ(line(5), 0U);
  EXPECT_EQ(line(6), 0U) << "beyond the table";
  EXPECT_EQ(line_of_unit(table, 8, 100, 4), 0U) << "a table cut short";
  EXPECT_EQ(line_of_unit(table, 0, 100, 0), 0U);
}

TEST_P(PythonFrames, TextsAreCopiedAsUtf8) {
  char to[8];
  EXPECT_TRUE(copy_python_text(interpreter, text(layout, "name").address(), to, sizeof to, false));
  EXPECT_STREQ(to, "name");
  EXPECT_TRUE(copy_python_text(interpreter, text(layout, "0123456789").address(), to, sizeof to, false));
  EXPECT_STREQ(to, "0123456");
  EXPECT_TRUE(copy_python_text(interpreter, text(layout, "0123456789").address(), to, sizeof to, true));
  EXPECT_STREQ(to, "3456789");
  EXPECT_TRUE(copy_python_text(interpreter, wide_text(layout, std::u16string(u"aä€")).address(), to,
                               sizeof to, false));
  EXPECT_STREQ(to, "aä€");
  EXPECT_TRUE(copy_python_text(interpreter, wide_text(layout, std::u32string(U"a😀bcd")).address(), to,
                               sizeof to, false));
  EXPECT_STREQ(to, "a😀bc");
  EXPECT_TRUE(copy_python_text(interpreter, wide_text(layout, std::u32string(U"a😀bcd")).address(), to,
                               sizeof to, true));
  EXPECT_STREQ(to, "😀bcd");
}

TEST_P(PythonFrames, TextsOthersAreRefused) {
  char to[8];
  EXPECT_FALSE(copy_python_text(interpreter, main_code.lines.address(), to, sizeof to, false));
  EXPECT_FALSE(copy_python_text(interpreter, 0, to, sizeof to, false));
  EXPECT_FALSE(copy_python_text(interpreter, 12345, to, sizeof to, false));
  for (std::uint32_t flag = 1; flag != 0; flag <<= 1) {
    if ((flag & layout.text_flags) == 0) continue;
    Object not_whole = text(layout, "name");
    not_whole.put(python::text_state, 1 << 2 | 1 << 6 | (layout.text_flags & ~flag));
    EXPECT_FALSE(copy_python_text(interpreter, not_whole.address(), to, sizeof to, false));
  }
  Object freed = text(layout, "name");
  freed.put(python::object_references, 0);
  EXPECT_FALSE(copy_python_text(interpreter, freed.address(), to, sizeof to, false));
}

TEST_P(PythonFrames, PositionsAreNumberedByCodeAndInstruction) {
  const auto number = [&](const Code& code, std::uint64_t unit) {
    return find_python_position(interpreter, code.object.address(), code.instruction(unit));
  };
  const std::uint32_t first = number(main_code, 3);
  ASSERT_NE(first, no_python_position);
  EXPECT_EQ(number(main_code, 3), first);
  EXPECT_NE(number(main_code, 4), first);
  EXPECT_NE(number(leaf_code, 3), first);
  EXPECT_EQ(named(first - session::first_python_frame), "main:13");
  EXPECT_EQ(tables->function_count.load(), 2U);
}

TEST_P(PythonFrames, AnotherCodeObjectAtTheAddressIsAnotherPosition) {
  const std::uint64_t at = main_code.object.address();
  const std::uint32_t first = find_python_position(interpreter, at, main_code.instruction(1));
  main_code.object.put(python::code_qualified_name, leaf_code.name.address());
  const std::uint32_t second = find_python_position(interpreter, at, main_code.instruction(1));
  EXPECT_EQ(named(first - session::first_python_frame), "main:11");
  EXPECT_EQ(named(second - session::first_python_frame), "leaf:11");
}

TEST_P(PythonFrames, WhatIsNoCodeObjectHasNoPosition) {
  const std::uint64_t at = main_code.object.address();
  EXPECT_EQ(find_python_position(interpreter, 0, 0), no_python_position);
  EXPECT_EQ(find_python_position(interpreter, at + 4, at), no_python_position);
  main_code.object.put(python::object_type, text_type);
  EXPECT_EQ(find_python_position(interpreter, at, main_code.instruction(1)), no_python_position);
  leaf_code.object.put(python::object_references, 0);
  EXPECT_EQ(find_python_position(interpreter, leaf_code.object.address(), leaf_code.instruction(1)),
            no_python_position);
  handle_code.name.put(python::object_type, bytes_type);
  EXPECT_EQ(find_python_position(interpreter, handle_code.object.address(), handle_code.instruction(1)),
            no_python_position);
}

TEST_P(PythonFrames, FullTablesHaveNoPosition) {
  tables->function_count = session::max_python_functions;
  EXPECT_EQ(find_python_position(interpreter, main_code.object.address(), main_code.instruction(1)),
            no_python_position);
  tables->function_count = 0;
  tables->position_count = session::python_position_slots;
  EXPECT_EQ(find_python_position(interpreter, leaf_code.object.address(), leaf_code.instruction(1)),
            no_python_position);
}

TEST_P(PythonFrames, AreBehindTheNativeFrameThatRunsThem) {
  push_three();
  EXPECT_EQ(shown(outer_loop()), ". leaf:30 . Service.handle:24 main:13 . ");
}

TEST_P(PythonFrames, ChangesOfEachFrameAreSeen) {
  push_three();
  std::string seen;
  const std::uint64_t units[][3] = {{3, 4, 0}, {3, 4, 1}, {3, 5, 1}, {2, 5, 1}, {3, 4, 0}, {3, 4, 1}};
  for (const auto& unit : units) {
    frames[0].put(python::frame_instruction, main_code.instruction(unit[0]));
    frames[1].put(python::frame_instruction, handle_code.instruction(unit[1]));
    frames[2].put(python::frame_instruction, leaf_code.instruction(unit[2]));
    const std::string wanted = ". leaf:" + std::to_string(30 + unit[2]) +
                               " . Service.handle:" + std::to_string(20 + unit[1]) +
                               " main:" + std::to_string(10 + unit[0]) + " . ";
    EXPECT_EQ(shown(outer_loop()), wanted);
    EXPECT_EQ(shown(outer_loop()), wanted) << "again";
  }
}

TEST_P(PythonFrames, AnEqualStackIsOneNode) {
  push_three();
  std::uint32_t node = 0;
  for (int i = 0; i < 3; ++i) {
    const std::uint32_t found = outer_loop();
    if (node == 0) node = found;
    EXPECT_EQ(found, node);
    frames[2].put(python::frame_instruction, leaf_code.instruction(5));
    EXPECT_NE(outer_loop(), node);
    frames[2].put(python::frame_instruction, leaf_code.instruction(0));
  }
}

TEST_P(PythonFrames, CallsAndReturnsWithinOneLoop) {
  push(main_code, 1, 0, true);
  push(handle_code, 2, frames[0].address(), false);
  push(leaf_code, 3, frames[1].address(), true);
  push(main_code, 4, frames[2].address(), false);
  meddle = [&] { run_frame(*inner, frames[3].address()); };
  EXPECT_EQ(shown(outer_loop()), ". main:14 leaf:33 . Service.handle:22 main:11 . ");
  meddle = nullptr;
  EXPECT_EQ(shown(outer_loop()), ". leaf:33 . Service.handle:22 main:11 . ");
  meddle = [&] { run_frame(*inner, frames[3].address()); };
  EXPECT_EQ(shown(outer_loop()), ". main:14 leaf:33 . Service.handle:22 main:11 . ");
}

TEST_P(PythonFrames, BrokenStructuresAreLeftOut) {
  push_three();
  std::vector<std::function<void()>> breaks = has_entries() ? broken_entries() : broken_cframes();
  breaks.insert(breaks.end(), {
                                  [&] { state.put(layout.thread_id, 1); },
                                  [&] { runtime.put(layout.finalizing, 8); },
                                  [&] { runtime.put(layout.is_begun, 0); },
                                  [&] { state_of_this_thread = nullptr; },
                              });
  for (std::size_t i = 0; i < breaks.size(); ++i) {
    meddle = breaks[i];
    EXPECT_EQ(shown(outer_loop()), ". ") << i;
    frames[1].put(layout.frame_previous, frames[0].address());
    state.put(layout.thread_id, reinterpret_cast<std::uint64_t>(__builtin_thread_pointer()));
    runtime.put(layout.finalizing, 0);
    runtime.put(layout.is_begun, 1);
    state_of_this_thread = reinterpret_cast<void*>(state.address());
    meddle = nullptr;
    EXPECT_EQ(shown(outer_loop()), ". leaf:30 . Service.handle:24 main:13 . ") << i;
  }
}

TEST_P(PythonFrames, OfDeepRecursionTheInnermostAreKept) {
  push(main_code, 1, 0, true);
  for (int i = 0; i < 300; ++i) push(leaf_code, i % 2, frames.back().address(), false);
  push(handle_code, 2, frames[300].address(), true);
  outer_frame = 300;
  const std::string found = shown(outer_loop());
  EXPECT_TRUE(found.starts_with(". Service.handle:22 . leaf:31 leaf:30 ")) << found;
  EXPECT_TRUE(found.ends_with(" … ")) << found;
  std::size_t leaves = 0;
  for (std::size_t at = 0; (at = found.find("leaf", at)) != std::string::npos; ++at) ++leaves;
  EXPECT_EQ(leaves, 127U);
}

TEST_P(PythonFrames, WithoutMemoryForThemStacksAreNative) {
  push_three();
  std::memset(memory, 0, sizeof memory);
  stack = begin_thread(process.tables(), memory);
  EXPECT_EQ(shown(outer_loop()), ". ");
}

}  // namespace
}  // namespace heapwright::unwind
