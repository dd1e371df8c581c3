// SPDX-License-Identifier: MIT
#include "collect/perf_map.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "collect/perf_map_file.hpp"

namespace heapwright::collect {
namespace {

PerfMap read(const std::string& text, std::vector<std::uint64_t> addresses) {
  PerfMap map(std::move(addresses));
  map.add(text);
  return map;
}

TEST(PerfMap, CodeHasTheNameOfItsLine) {
  const PerfMap map = read("1000 10 JS:*handle /srv/app.js:14:3\n0x2000 0x8 int D.run(int)\n",
                           {0xfff, 0x1000, 0x100f, 0x1010, 0x2007, 0x2008, 0x1000});
  EXPECT_EQ(map.name_at(0x1000), "JS:*handle /srv/app.js:14:3");
  EXPECT_EQ(map.name_at(0x100f), "JS:*handle /srv/app.js:14:3");
  EXPECT_EQ(map.name_at(0x2007), "int D.run(int)");
  EXPECT_EQ(map.name_at(0xfff), "");
  EXPECT_EQ(map.name_at(0x1010), "");
  EXPECT_EQ(map.name_at(0x2008), "");
  EXPECT_EQ(map.name_at(0x100e), "") << "not asked for";
}

TEST(PerfMap, PartsOfTheFileMayEndAnywhere) {
  const std::string text = "1000 10 one\n2000 10 two\n";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    PerfMap map({0x1000, 0x2000});
    map.add(text.substr(0, cut));
    map.add(text.substr(cut));
    EXPECT_EQ(map.name_at(0x1000), "one") << cut;
    EXPECT_EQ(map.name_at(0x2000), "two") << cut;
  }
}

TEST(PerfMap, HalfALineNamesNothing) {
  EXPECT_EQ(read("1000 10 handle /srv/app.js:1", {0x1000}).name_at(0x1000), "");
}

TEST(PerfMap, CodeOfTwoNamesHasNone) {
  const std::string text = "1000 10 first\n1008 10 second\n2000 4 same\n2000 8 same\n";
  const PerfMap map = read(text, {0x1007, 0x1008, 0x1010, 0x2003, 0x2004});
  EXPECT_EQ(map.name_at(0x1007), "first");
  EXPECT_EQ(map.name_at(0x1008), "");
  EXPECT_EQ(map.name_at(0x1010), "second");
  EXPECT_EQ(map.name_at(0x2003), "same");
  EXPECT_EQ(map.name_at(0x2004), "same");
}

TEST(PerfMap, OtherLinesAreLeftOut) {
  for (const char* line :
       {"", " ", "1000", "1000 ", "1000 10", "1000 10 ", "1000 0 none", "x 10 none", "1000 y none",
        "-1000 10 none", "10000000000000000 10 none", "1000\t10\tnone", "1000 10\nnone", "0x 10 none"}) {
    EXPECT_EQ(read(line + std::string("\n"), {0x1000}).name_at(0x1000), "") << line;
  }
}

TEST(PerfMap, RangesEndAtTheLastAddress) {
  const std::uint64_t last = ~0ULL;
  const PerfMap map =
      read("ffffffffffffffff ffffffffffffffff end\n10 ffffffffffffffef most\n", {0, 0xf, last});
  EXPECT_EQ(map.name_at(0), "");
  EXPECT_EQ(map.name_at(0xf), "");
  EXPECT_EQ(map.name_at(last), "end") << "the second one ends before";
}

TEST(PerfMap, ALineThatIsTooLongNamesNothing) {
  const std::string begin = "1000 10 ";
  const std::string longest = begin + std::string(PerfMap::most_line_bytes - begin.size(), 'a');
  EXPECT_EQ(read(longest + "\n", {0x1000}).name_at(0x1000).size(), PerfMap::most_line_bytes - begin.size());
  EXPECT_EQ(read(longest + "a\n", {0x1000}).name_at(0x1000), "");
  EXPECT_EQ(read("1000 10 short\n" + longest + "a\n", {0x1000}).name_at(0x1000), "") << "its code was there";
  EXPECT_EQ(read(longest + longest + "\n2000 10 next\n", {0x2000}).name_at(0x2000), "next");
}

TEST(PerfMap, AMapThatNamesEverythingWithoutEndIsGivenUp) {
  std::vector<std::uint64_t> addresses(1 << 16);
  for (std::size_t i = 0; i < addresses.size(); ++i) addresses[i] = i;
  PerfMap map(addresses);
  std::string text;
  for (int line = 0; line < 1000; ++line) text += "0 10000 all\n";
  map.add(text);
  EXPECT_EQ(map.name_at(1), "");
}

// The file as a process would write it: this one.
class MapFile : public testing::Test {
 protected:
  MapFile() { remove(path_.c_str()); }
  ~MapFile() override { remove(path_.c_str()); }

  void write(const std::string& text) const { std::ofstream(path_) << text; }

  std::vector<trace::CodeName> names() {
    const auto id = static_cast<std::uint32_t>(getpid());
    const PerfMapFile file(id, number_, false, 0);
    const LooseFrame frames[] = {{7, 0x1004}, {8, 0x3000}, {9, 0x1004}};
    problem_.clear();
    return file.names_of(frames, problem_);
  }

  // No process's: above every one that the kernel assigns.
  const std::uint32_t number_ = (1U << 30) + static_cast<std::uint32_t>(getpid());
  const std::string path_ = "/tmp/perf-" + std::to_string(number_) + ".map";
  std::string problem_;
};

TEST_F(MapFile, NamesFrames) {
  EXPECT_TRUE(names().empty());
  EXPECT_EQ(problem_, "") << "most programs have none";
  write("1000 10 handle\n");
  const auto found = names();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].frame, 7U);
  EXPECT_EQ(found[1].frame, 9U);
  EXPECT_EQ(found[1].name, "handle");
  EXPECT_EQ(problem_, "");
}

TEST_F(MapFile, OnlyARegularFileIsRead) {
  write("1000 10 handle\n");
  const std::string other = path_ + ".other";
  ASSERT_EQ(rename(path_.c_str(), other.c_str()), 0);
  ASSERT_EQ(symlink(other.c_str(), path_.c_str()), 0);
  EXPECT_TRUE(names().empty());
  EXPECT_EQ(problem_, path_ + " is a link: it was not read");
  remove(other.c_str());
  remove(path_.c_str());
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_TRUE(names().empty());
  EXPECT_EQ(problem_, path_ + " is no regular file: it was not read");
}

TEST_F(MapFile, ALargeOneIsNotRead) {
  write("1000 10 handle\n");
  ASSERT_EQ(truncate(path_.c_str(), PerfMapFile::most_bytes + 1), 0);
  EXPECT_TRUE(names().empty());
  EXPECT_EQ(problem_, path_ + " is larger than 256 MiB: it was not read");
}

TEST_F(MapFile, AnotherUsersIsNotRead) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  write("1000 10 handle\n");
  ASSERT_EQ(chown(path_.c_str(), 12345, 12345), 0);
  EXPECT_TRUE(names().empty());
  EXPECT_EQ(problem_, path_ + " belongs to another user than the process: it was not read");
}

}  // namespace
}  // namespace heapwright::collect
