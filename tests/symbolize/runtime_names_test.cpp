// SPDX-License-Identifier: MIT
#include "symbolize/runtime_names.hpp"

#include <gtest/gtest.h>

#include <string>

#include "symbolize/symbolize.hpp"

namespace heapwright::symbolize {
namespace {

std::string said(std::string_view name) {
  const SourceFrame place = place_in_runtime(name);
  return place.function + "|" + place.file + "|" + std::to_string(place.line);
}

TEST(RuntimeNames, V8SaysFileAndLine) {
  EXPECT_EQ(said("LazyCompile:*handle /path/server.js:14:3"), "handle|/path/server.js|14");
  EXPECT_EQ(said("JS:^compress /tmp/server.js:4:18"), "compress|/tmp/server.js|4");
  EXPECT_EQ(said("JS:~writeSync node:fs:898:19"), "writeSync|node:fs|898");
  EXPECT_EQ(said("Eval:~ /tmp/server.js:1:1"), "(anonymous)|/tmp/server.js|1");
  EXPECT_EQ(said("JS:*get size /srv/my app.js:9:1"), "get size|/srv/my app.js|9");
  EXPECT_EQ(said("JS:+load file:///srv/a.mjs:7:2"), "load|file:///srv/a.mjs|7");
}

TEST(RuntimeNames, OthersSayWhatTheySay) {
  EXPECT_EQ(said("py::handle:/srv/app.py"), "handle|/srv/app.py|0");
  EXPECT_EQ(said("py::<module>:<string>"), "<module>|<string>|0");
  EXPECT_EQ(said("Lcom/shop/Cart;::add(I)V"), "com.shop.Cart.add(I)V||0");
  EXPECT_EQ(said("int D.handle(int)"), "int D.handle(int)||0");
  EXPECT_EQ(said("Builtin:CEntry"), "Builtin:CEntry||0");
}

TEST(RuntimeNames, HalfANameIsWhole) {
  EXPECT_EQ(said("JS:*"), "(anonymous)||0");
  EXPECT_EQ(said("JS:*handle"), "handle||0");
  EXPECT_EQ(said("JS:*handle:3"), "handle:3||0");
  EXPECT_EQ(said("JS:*:1:2"), ":1:2||0");
  EXPECT_EQ(said("JS:*f /a.js:99999999999:1"), "f /a.js:99999999999:1||0");
  EXPECT_EQ(said("py::"), "(anonymous)||0");
  EXPECT_EQ(said("py::handle"), "handle||0");
  EXPECT_EQ(said("L;::"), ".||0");
  EXPECT_EQ(said(""), "||0");
}

TEST(RuntimeNames, AreOfFramesInNoObject) {
  const std::vector<trace::Module> modules = {{0x1000, 0x2000, 0x1000, 0, 0, "/gone/libgone.so", ""}};
  const std::vector<trace::Frame> frames = {
      {0x1010, 0, false}, {0x7000, trace::Frame::no_module, false}, {0x8000, trace::Frame::no_module, false}};
  const std::vector<trace::CodeName> names = {
      {1, "JS:*handle /srv/a.js:14:3"}, {1, "again"}, {0, "wrong"}, {99, "none"}, {2, ""}};
  Options options;
  options.code_names = names;
  options.depths = {Depth::none};
  const Symbols symbols = symbolize(modules, frames, options);
  ASSERT_EQ(symbols.first_location, (std::vector<std::uint32_t>{0, 0, 1, 2}));
  EXPECT_EQ(symbols.strings[symbols.locations[0].function], "handle");
  EXPECT_EQ(symbols.strings[symbols.locations[0].file], "/srv/a.js");
  EXPECT_EQ(symbols.locations[0].line, 14U);
  EXPECT_EQ(symbols.strings[symbols.locations[1].function], "0x8000");
}

}  // namespace
}  // namespace heapwright::symbolize
