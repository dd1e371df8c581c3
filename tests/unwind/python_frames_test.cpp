// SPDX-License-Identifier: MIT
// Stacks with the frames of a CPython, which this program imitates.
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
extern const std::size_t heapwright_python_layout[];
extern const std::size_t heapwright_python_layout_count;
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

Object text(const std::string& characters) {
  Object of(python::ascii_bytes + characters.size() + 1, text_type);
  of.put(python::text_length, characters.size());
  of.put(python::text_state, 1 << 2 | 1 << 5 | 1 << 6 | 1 << 7);
  std::memcpy(of.bytes() + python::ascii_bytes, characters.data(), characters.size());
  return of;
}

template <typename Character>
Object wide_text(const std::basic_string<Character>& characters) {
  Object of(python::compact_bytes + (characters.size() + 1) * sizeof(Character), text_type);
  of.put(python::text_length, characters.size());
  of.put(python::text_state, sizeof(Character) << 2 | 1 << 5 | 1 << 7);
  std::memcpy(of.bytes() + python::compact_bytes, characters.data(), characters.size() * sizeof(Character));
  return of;
}

// Instruction i is on line first_line + i.
struct Code {
  Code(const std::string& called, const std::string& file, std::uint32_t first_line)
      : name(text(called)),
        path(text(file)),
        lines(python::bytes_content + 64, bytes_type),
        object(python::code_instructions + 64, code_type) {
    std::vector<unsigned char> table{0x80 | 13 << 3, 0};
    for (int i = 1; i < 16; ++i) table.insert(table.end(), {0x80 | 11 << 3, 0, 0});
    std::memcpy(lines.bytes() + python::bytes_content, table.data(), table.size());
    lines.put(python::object_size, table.size());
    object.put(python::object_size, 16);
    object.put(python::code_first_line, first_line);
    object.put(python::code_qualified_name, name.address());
    object.put(python::code_file, path.address());
    object.put(python::code_line_table, lines.address());
  }
  std::uint64_t instruction(std::uint64_t unit) const {
    return object.address() + python::code_instructions + unit * python::instruction_bytes;
  }
  Object name, path, lines, object;
};

struct CFrame {
  std::uint64_t tracing = 0;
  std::uint64_t current = 0;
  std::uint64_t previous = 0;
};
static_assert(sizeof(CFrame) == python::cframe_bytes);

std::uint64_t address_of(const CFrame& frame) { return reinterpret_cast<std::uint64_t>(&frame); }

void* state_of_this_thread;

class PythonFrames : public ::testing::Test {
 protected:
  PythonFrames() : runtime(1024, 0), state(thread_state_bytes, 0), tables(new session::PythonTables{}) {
    interpreter.runtime = runtime.address();
    interpreter.code_type = code_type;
    interpreter.text_type = text_type;
    interpreter.bytes_type = bytes_type;
    interpreter.thread_value = [](unsigned) noexcept { return state_of_this_thread; };
    interpreter.tables = tables.get();
    runtime.put(python::runtime_thread_key, 1);
    state.put(python::thread_id, reinterpret_cast<std::uint64_t>(__builtin_thread_pointer()));
    state.put(python::thread_cframe, root());
    state_of_this_thread = reinterpret_cast<void*>(state.address());
    process.tables().interpreter = &interpreter;
    announce_interpreter();
    stack = begin_thread(process.tables(), memory, python_memory);
  }

  std::uint64_t root() const { return state.address() + python::thread_root_cframe; }

  Object& push(const Code& code, std::uint64_t unit, std::uint64_t caller, bool is_entry) {
    Object& frame = frames.emplace_back(128, 0);
    frame.put(python::frame_code, code.object.address());
    frame.put(python::frame_previous, caller);
    frame.put(python::frame_instruction, code.instruction(unit));
    frame.bytes()[python::frame_is_entry] = is_entry ? 1 : 0;
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

  // An eval loop that runs two frames, and calls another.
  [[gnu::noinline]] std::uint32_t outer_loop() {
    CFrame cframe{0, frames[1].address(), root()};
    frames[0].put(python::frame_previous, 0);
    state.put(python::thread_cframe, address_of(cframe));
    outer = &cframe;
    const std::uint32_t node = inner_loop();
    state.put(python::thread_cframe, root());
    return node;
  }

  [[gnu::noinline]] std::uint32_t inner_loop() {
    CFrame cframe{0, frames[2].address(), address_of(*outer)};
    state.put(python::thread_cframe, address_of(cframe));
    inner = &cframe;
    if (meddle) meddle();
    const std::uint32_t node = allocate();
    state.put(python::thread_cframe, address_of(*outer));
    return node;
  }

  // main → handle, natively called back: leaf.
  void push_three() {
    push(main_code, 3, 0, true);
    push(handle_code, 4, frames[0].address(), false);
    push(leaf_code, 0, frames[1].address(), true);
  }

  TestProcess process;
  Object runtime;
  Object state;
  std::unique_ptr<session::PythonTables> tables;
  Interpreter interpreter;
  std::deque<Object> frames;
  Code main_code{"main", "app.py", 10};
  Code handle_code{"Service.handle", "app.py", 20};
  Code leaf_code{"leaf", "app.py", 30};
  std::function<void()> meddle;
  CFrame* outer = nullptr;
  CFrame* inner = nullptr;
  ThreadStack* stack = nullptr;
  alignas(64) unsigned char memory[12 * 1024] = {};
  alignas(64) unsigned char python_memory[python_stack_bytes] = {};
};

TEST(PythonLayout, IsThatOfTheInterpretersHeaders) {
  if (heapwright_python_layout_count == 0) GTEST_SKIP() << "no headers of CPython 3.11";
  const std::vector<std::uint64_t> ours{
      python::runtime_bytes,      python::runtime_finalizing, python::runtime_current_thread,
      python::runtime_thread_key, python::thread_cframe,      python::thread_root_cframe,
      python::thread_id,          python::cframe_current,     python::cframe_previous,
      python::frame_code,         python::frame_previous,     python::frame_instruction,
      python::frame_is_entry,     python::code_consts,        python::code_names,
      python::code_first_line,    python::code_file,          python::code_qualified_name,
      python::code_line_table,    python::code_instructions,  python::bytes_content,
      python::text_length,        python::text_state,         python::ascii_bytes,
      python::compact_bytes};
  const std::vector<std::uint64_t> theirs(heapwright_python_layout,
                                          heapwright_python_layout + heapwright_python_layout_count);
  EXPECT_EQ(ours, theirs);
}

TEST(PythonLayout, OtherVersionsAreNotRead) {
  EXPECT_TRUE(python::is_known(0x030b02f0, python::runtime_bytes));
  EXPECT_TRUE(python::is_known(0x030b07f0, python::runtime_bytes));
  EXPECT_FALSE(python::is_known(0x030b01f0, python::runtime_bytes));  // frames are cleared while linked
  EXPECT_FALSE(python::is_known(0x030c00f0, python::runtime_bytes));
  EXPECT_FALSE(python::is_known(0x030b02f0, python::runtime_bytes + 8));
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

TEST(PythonTexts, AreCopiedAsUtf8) {
  char to[8];
  EXPECT_TRUE(copy_python_text(text_type, text("name").address(), to, sizeof to, false));
  EXPECT_STREQ(to, "name");
  EXPECT_TRUE(copy_python_text(text_type, text("0123456789").address(), to, sizeof to, false));
  EXPECT_STREQ(to, "0123456");
  EXPECT_TRUE(copy_python_text(text_type, text("0123456789").address(), to, sizeof to, true));
  EXPECT_STREQ(to, "3456789");
  EXPECT_TRUE(copy_python_text(text_type, wide_text(std::u16string(u"aä€")).address(), to, sizeof to, false));
  EXPECT_STREQ(to, "aä€");
  EXPECT_TRUE(
      copy_python_text(text_type, wide_text(std::u32string(U"a😀bcd")).address(), to, sizeof to, false));
  EXPECT_STREQ(to, "a😀bc");
  EXPECT_TRUE(
      copy_python_text(text_type, wide_text(std::u32string(U"a😀bcd")).address(), to, sizeof to, true));
  EXPECT_STREQ(to, "😀bcd");
}

TEST(PythonTexts, OthersAreRefused) {
  char to[8];
  EXPECT_FALSE(copy_python_text(bytes_type, text("name").address(), to, sizeof to, false));
  EXPECT_FALSE(copy_python_text(text_type, 0, to, sizeof to, false));
  EXPECT_FALSE(copy_python_text(text_type, 12345, to, sizeof to, false));
  Object not_ready = text("name");
  not_ready.put(python::text_state, 1 << 2 | 1 << 5 | 1 << 6);
  EXPECT_FALSE(copy_python_text(text_type, not_ready.address(), to, sizeof to, false));
  Object freed = text("name");
  freed.put(python::object_references, 0);
  EXPECT_FALSE(copy_python_text(text_type, freed.address(), to, sizeof to, false));
}

TEST_F(PythonFrames, PositionsAreNumberedByCodeAndInstruction) {
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

TEST_F(PythonFrames, AnotherCodeObjectAtTheAddressIsAnotherPosition) {
  const std::uint64_t at = main_code.object.address();
  const std::uint32_t first = find_python_position(interpreter, at, main_code.instruction(1));
  main_code.object.put(python::code_qualified_name, leaf_code.name.address());
  const std::uint32_t second = find_python_position(interpreter, at, main_code.instruction(1));
  EXPECT_EQ(named(first - session::first_python_frame), "main:11");
  EXPECT_EQ(named(second - session::first_python_frame), "leaf:11");
}

TEST_F(PythonFrames, WhatIsNoCodeObjectHasNoPosition) {
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

TEST_F(PythonFrames, FullTablesHaveNoPosition) {
  tables->function_count = session::max_python_functions;
  EXPECT_EQ(find_python_position(interpreter, main_code.object.address(), main_code.instruction(1)),
            no_python_position);
  tables->function_count = 0;
  tables->position_count = session::python_position_slots;
  EXPECT_EQ(find_python_position(interpreter, leaf_code.object.address(), leaf_code.instruction(1)),
            no_python_position);
}

TEST_F(PythonFrames, AreBehindTheNativeFrameThatRunsThem) {
  push_three();
  EXPECT_EQ(shown(outer_loop()), ". leaf:30 . Service.handle:24 main:13 . ");
}

TEST_F(PythonFrames, ChangesOfEachFrameAreSeen) {
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

TEST_F(PythonFrames, AnEqualStackIsOneNode) {
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

TEST_F(PythonFrames, CallsAndReturnsWithinOneLoop) {
  push(main_code, 1, 0, true);
  push(handle_code, 2, frames[0].address(), false);
  push(leaf_code, 3, frames[1].address(), true);
  push(main_code, 4, frames[2].address(), false);
  meddle = [&] { inner->current = frames[3].address(); };
  EXPECT_EQ(shown(outer_loop()), ". main:14 leaf:33 . Service.handle:22 main:11 . ");
  meddle = nullptr;
  EXPECT_EQ(shown(outer_loop()), ". leaf:33 . Service.handle:22 main:11 . ");
  meddle = [&] { inner->current = frames[3].address(); };
  EXPECT_EQ(shown(outer_loop()), ". main:14 leaf:33 . Service.handle:22 main:11 . ");
}

TEST_F(PythonFrames, BrokenStructuresAreLeftOut) {
  push_three();
  const std::vector<std::function<void()>> breaks{
      [&] { inner->current = 0; },
      [&] { inner->current += 4; },
      [&] { inner->previous = 0; },
      [&] { inner->previous = address_of(*inner); },
      [&] { inner->previous += 4; },
      [&] { state.put(python::thread_cframe, 8); },
      [&] { state.put(python::thread_cframe, address_of(*inner) + 4); },
      [&] { frames[2].put(python::frame_previous, frames[0].address()); },
      [&] { frames[1].put(python::frame_previous, 0); },
      [&] { state.put(python::thread_id, 1); },
      [&] { runtime.put(python::runtime_finalizing, 8); },
      [&] { runtime.put(python::runtime_thread_key, 0); },
      [&] { state_of_this_thread = nullptr; },
  };
  for (std::size_t i = 0; i < breaks.size(); ++i) {
    meddle = breaks[i];
    EXPECT_EQ(shown(outer_loop()), ". ") << i;
    frames[1].put(python::frame_previous, frames[0].address());
    frames[2].put(python::frame_previous, frames[1].address());
    state.put(python::thread_id, reinterpret_cast<std::uint64_t>(__builtin_thread_pointer()));
    runtime.put(python::runtime_finalizing, 0);
    runtime.put(python::runtime_thread_key, 1);
    state_of_this_thread = reinterpret_cast<void*>(state.address());
    meddle = nullptr;
    EXPECT_EQ(shown(outer_loop()), ". leaf:30 . Service.handle:24 main:13 . ") << i;
  }
}

TEST_F(PythonFrames, TheRunningThreadOfAnotherIsNotReadAsOwn) {
  push_three();
  EXPECT_EQ(shown(outer_loop()), ". leaf:30 . Service.handle:24 main:13 . ");
  Object other(thread_state_bytes, 0);
  other.put(python::thread_id, 1);
  runtime.put(python::runtime_current_thread, other.address());
  EXPECT_EQ(shown(outer_loop()), ". leaf:30 . Service.handle:24 main:13 . ") << "without the lock";
  runtime.put(python::runtime_current_thread, state.address());
  EXPECT_EQ(shown(outer_loop()), ". leaf:30 . Service.handle:24 main:13 . ") << "with it";
}

TEST_F(PythonFrames, OfDeepRecursionTheInnermostAreKept) {
  push(main_code, 1, 0, true);
  for (int i = 0; i < 300; ++i) push(leaf_code, i % 2, frames.back().address(), false);
  push(handle_code, 2, frames[300].address(), true);
  meddle = [&] {
    outer->current = frames[300].address();
    inner->current = frames[301].address();
  };
  const std::string found = shown(outer_loop());
  EXPECT_TRUE(found.starts_with(". Service.handle:22 . leaf:31 leaf:30 ")) << found;
  EXPECT_TRUE(found.ends_with(" … ")) << found;
  std::size_t leaves = 0;
  for (std::size_t at = 0; (at = found.find("leaf", at)) != std::string::npos; ++at) ++leaves;
  EXPECT_EQ(leaves, 127U);
}

TEST_F(PythonFrames, WithoutMemoryForThemStacksAreNative) {
  push_three();
  std::memset(memory, 0, sizeof memory);
  stack = begin_thread(process.tables(), memory);
  EXPECT_EQ(shown(outer_loop()), ". ");
}

}  // namespace
}  // namespace heapwright::unwind
