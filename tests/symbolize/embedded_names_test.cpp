// SPDX-License-Identifier: MIT
// A trace with names inside: they are taken, and no file is looked at.
#include <gtest/gtest.h>

#include "symbolize/symbolize.hpp"

namespace heapwright::symbolize {
namespace {

TEST(EmbeddedNames, AreTakenInsteadOfAnyFile) {
  // Its file is there, and has other names.
  const std::vector<trace::Module> modules = {
      {0x1000, 0x2000, 0x1000, 0, 0, SAMPLE_LIBRARY, ""},
      {0x5000, 0x6000, 0x5000, 0, 0, "/gone/libgone.so", ""},
      {0x9000, 0xa000, 0x9000, 0, 0, SAMPLE_LIBRARY, ""},
  };
  const std::vector<trace::Frame> frames = {
      {0x1010, 0, false}, {0x5020, 1, false}, {0x77, trace::Frame::no_module, false}, {0x5030, 1, true}};
  trace::EmbeddedNames names;
  names.strings = {"", "inner()", "outer()", "a.cpp"};
  names.first_location = {0, 2, 2, 2, 3};
  names.locations = {{1, 3, 7, 1}, {2, 0, 0, 0}, {2, 3, 9, 0}};
  names.objects = {{0, 9, ""}, {1, 1, "libgone.so is stripped"}, {77, 3, "no such module"}};
  Options options;
  options.names = &names;
  options.depths = {Depth::none, Depth::brief, Depth::full};
  const Symbols symbols = symbolize(modules, frames, options);

  const auto said = [&](std::size_t i) {
    const Location& of = symbols.locations[i];
    return symbols.strings[of.function] + " " + symbols.strings[of.file] + ":" + std::to_string(of.line) +
           (of.is_inlined != 0 ? " inlined" : "");
  };
  ASSERT_EQ(symbols.first_location, (std::vector<std::uint32_t>{0, 2, 3, 4, 5}));
  EXPECT_EQ(said(0), "inner() a.cpp:7 inlined");
  EXPECT_EQ(said(1), "outer() :0");
  EXPECT_EQ(said(2), "libgone.so+0x20 :0");
  EXPECT_EQ(said(3), "0x77 :0");
  EXPECT_EQ(said(4), "outer() a.cpp:9");
  ASSERT_EQ(symbols.objects.size(), 2U) << "one loaded twice";
  EXPECT_EQ(symbols.objects[0].used_file, "");
  EXPECT_EQ(symbols.objects[0].source, SymbolSource::debug_info) << "the best that there is";
  EXPECT_EQ(symbols.objects[1].problem, "libgone.so is stripped");
  EXPECT_EQ(symbols.objects[1].frames, 2U);
  EXPECT_EQ(symbols.objects[1].unnamed, 1U);
}

TEST(PythonFrames, HaveTheNamesOfTheTrace) {
  const std::vector<trace::Module> modules = {
      {0x1000, 0x2000, 0x1000, 0, 0, "/gone/libgone.so", ""},
      {trace::python_module_start, trace::python_module_start + 100, trace::python_module_start, 0, 0,
       trace::python_module_path, ""},
  };
  const std::uint64_t pc = trace::python_module_start;
  const std::vector<trace::Frame> frames = {{0x1010, 0, false}, {pc + 1, 1, true}, {pc + 2, 1, true}};
  // The last two: of a frame that is none of Python's, and of none.
  const std::vector<trace::PythonFrame> python = {{1, "handle", "app.py", 14},
                                                  {2, "", "app.py", 1},
                                                  {0, "wrong", "app.py", 1},
                                                  {99, "none", "app.py", 1}};
  Options options;
  options.python_frames = python;
  options.depths = {Depth::none, Depth::none};
  const Symbols symbols = symbolize(modules, frames, options);
  ASSERT_EQ(symbols.first_location, (std::vector<std::uint32_t>{0, 0, 1, 2}));
  EXPECT_EQ(symbols.strings[symbols.locations[0].function], "handle");
  EXPECT_EQ(symbols.strings[symbols.locations[0].file], "app.py");
  EXPECT_EQ(symbols.locations[0].line, 14U);
  EXPECT_EQ(symbols.strings[symbols.locations[1].function], "[python]+0x2");
  EXPECT_EQ(symbols.objects[1].problem, "");
  EXPECT_EQ(symbols.objects[1].unnamed, 1U);
}

}  // namespace
}  // namespace heapwright::symbolize
