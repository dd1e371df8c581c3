// SPDX-License-Identifier: MIT
// What is read of a CPython's objects, which this program imitates, and where.
#include "unwind/python_names.hpp"

#include "python_imitation.hpp"

extern "C" {
// What the headers say (python_layout_of_headers.c); 0 words: they are not installed.
extern const std::size_t heapwright_python_3_9[], heapwright_python_3_9_count;
extern const std::size_t heapwright_python_3_10[], heapwright_python_3_10_count;
extern const std::size_t heapwright_python_3_11[], heapwright_python_3_11_count;
extern const std::size_t heapwright_python_3_12[], heapwright_python_3_12_count;
extern const std::size_t heapwright_python_3_13[], heapwright_python_3_13_count;
extern const std::size_t heapwright_python_3_14[], heapwright_python_3_14_count;
}

namespace heapwright::unwind {
namespace {

using python::Layout;
using test::bytes_type;
using test::Code;
using test::Object;
using test::text;
using test::text_type;
using test::wide_text;

class PythonObjects : public test::PythonFrames {};
INSTANTIATE_TEST_SUITE_P(Python, PythonObjects, ::testing::ValuesIn(python::layouts),
                         [](const auto& of) { return std::string("Of") + std::to_string(of.index + 9); });

// The layout as the headers' words are in order.
std::vector<std::uint64_t> words_of(const Layout& of) {
  return {of.is_begun,        of.finalizing,         of.thread_id,          of.thread_frames,
          of.thread_cframe,   of.thread_root_cframe, of.cframe_current,     of.cframe_previous,
          of.frame_code,      of.frame_previous,     of.frame_owner,        of.frame_instruction,
          of.code_consts,     of.code_names,         of.code_first_line,    of.code_file,
          of.code_name,       of.code_line_table,    of.code_instructions,  of.ascii_bytes,
          of.compact_bytes,   python::object_type,   python::bytes_content, python::text_state,
          python::text_length};
}

void expect_words(const Layout& layout, const std::size_t* words, std::size_t count) {
  if (count == 0) return;  // no headers of this CPython
  EXPECT_EQ(words_of(layout), std::vector<std::uint64_t>(words, words + count)) << layout.first_version;
}

TEST(PythonLayout, IsThatOfTheHeaders) {
  expect_words(python::layouts[0], heapwright_python_3_9, heapwright_python_3_9_count);
  expect_words(python::layouts[1], heapwright_python_3_10, heapwright_python_3_10_count);
  expect_words(python::layouts[2], heapwright_python_3_11, heapwright_python_3_11_count);
  expect_words(python::layouts[3], heapwright_python_3_12, heapwright_python_3_12_count);
  expect_words(python::layouts[4], heapwright_python_3_13, heapwright_python_3_13_count);
  expect_words(python::layouts[5], heapwright_python_3_14, heapwright_python_3_14_count);
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
  put(of.stated_frame, 3, of.frame_instruction);
  put(of.stated_frame, 5, of.frame_owner);
  put(of.stated_code, 1, of.code_file);
  put(of.stated_code, 3, of.code_name);
  put(of.stated_code, 4, of.code_line_table);
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
  EXPECT_EQ(found(0x030b02f0), &python::layouts[2]);
  EXPECT_EQ(found(0x030b0ef0), &python::layouts[2]);
  EXPECT_EQ(found(0x030b01f0), nullptr);  // frames are cleared while linked
  EXPECT_EQ(found(0x030c00f0), &python::layouts[3]);
  EXPECT_EQ(found(0x030c00b1), nullptr);  // a beta
  EXPECT_EQ(found(0x030f00f0), nullptr);
  EXPECT_EQ(found(python::version_3_9), &python::layouts[0]);
  EXPECT_EQ(found(python::version_3_10), &python::layouts[1]);
  EXPECT_EQ(python::find_layout(0x030c00f0, nothing.data(), 24), nullptr);
}

TEST(PythonLayout, OfThoseThatStateItTheStatementDecides) {
  for (const std::size_t index : {4U, 5U}) {
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

TEST(PythonLines, OfOlderTables) {
  // 3.10: 2 bytes of line 100, 4 of 103, 2 without one, 2 of 102, 2 of the same.
  const std::uint8_t ranges[] = {2, 0, 4, 3, 2, 0x80, 2, 0xff, 2, 0};
  const auto by_range = [&](std::int64_t offset) {
    return line_by_ranges(ranges, sizeof ranges, 100, offset);
  };
  EXPECT_EQ(by_range(-2), 100U);
  EXPECT_EQ(by_range(0), 100U);
  EXPECT_EQ(by_range(2), 103U);
  EXPECT_EQ(by_range(5), 103U);
  EXPECT_EQ(by_range(6), 0U);
  EXPECT_EQ(by_range(8), 102U);
  EXPECT_EQ(by_range(11), 102U);
  EXPECT_EQ(by_range(12), 0U) << "beyond the table";
  // 3.9: at 2 line 103, at 300 (in two steps) 102.
  const std::uint8_t steps[] = {2, 3, 255, 0, 43, 0xff};
  const auto by_step = [&](std::int64_t offset) { return line_by_steps(steps, sizeof steps, 100, offset); };
  EXPECT_EQ(by_step(-1), 100U);
  EXPECT_EQ(by_step(1), 100U);
  EXPECT_EQ(by_step(2), 103U);
  EXPECT_EQ(by_step(299), 103U);
  EXPECT_EQ(by_step(300), 102U);
  EXPECT_EQ(by_step(9'999), 102U);
}

TEST_P(PythonObjects, TextsAreCopiedAsUtf8) {
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

TEST_P(PythonObjects, TextsOthersAreRefused) {
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

TEST_P(PythonObjects, PositionsAreNumberedByCodeAndInstruction) {
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

TEST_P(PythonObjects, AnotherCodeObjectAtTheAddressIsAnotherPosition) {
  const std::uint64_t at = main_code.object.address();
  const std::uint32_t first = find_python_position(interpreter, at, main_code.instruction(1));
  main_code.object.put(layout.code_name, leaf_code.name.address());
  const std::uint32_t second = find_python_position(interpreter, at, main_code.instruction(1));
  EXPECT_EQ(named(first - session::first_python_frame), "main:11");
  EXPECT_EQ(named(second - session::first_python_frame), "leaf:11");
}

TEST_P(PythonObjects, WhatIsNoCodeObjectHasNoPosition) {
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

TEST_P(PythonObjects, FullTablesHaveNoPosition) {
  tables->function_count = session::max_python_functions;
  EXPECT_EQ(find_python_position(interpreter, main_code.object.address(), main_code.instruction(1)),
            no_python_position);
  tables->function_count = 0;
  tables->position_count = session::python_position_slots;
  EXPECT_EQ(find_python_position(interpreter, leaf_code.object.address(), leaf_code.instruction(1)),
            no_python_position);
}

}  // namespace
}  // namespace heapwright::unwind
