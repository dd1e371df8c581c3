// SPDX-License-Identifier: MIT
#include "collect/jit_dump.hpp"

#include <elf.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "collect/perf_map_file.hpp"

namespace heapwright::collect {
namespace {

constexpr std::uint32_t process = 77;
#if defined(__x86_64__)
constexpr std::uint32_t machine = EM_X86_64;
#else
constexpr std::uint32_t machine = EM_AARCH64;
#endif

template <typename Number>
void put(std::string& text, Number number) {
  text.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// As a runtime writes it.
class Dump {
 public:
  explicit Dump(std::uint32_t version = 1, std::uint32_t of = process, std::uint32_t code_of = machine) {
    for (const std::uint32_t number : {0x4a695444U, version, 40U, code_of, 0U, of}) put(text_, number);
    for (const std::uint64_t number : {1ULL, 0ULL}) put(text_, number);
  }

  Dump& load(std::uint64_t begin, std::uint64_t bytes, std::string_view name) {
    std::string body;
    for (const std::uint32_t number : {process, process}) put(body, number);
    for (const std::uint64_t number : {begin, begin, bytes, ++count_}) put(body, number);
    body += name;
    body += '\0';
    return record(0, body + std::string(bytes, '\x90'));
  }

  Dump& move(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
    std::string body;
    for (const std::uint32_t number : {process, process}) put(body, number);
    for (const std::uint64_t number : {from, from, to, bytes, count_}) put(body, number);
    return record(1, body);
  }

  Dump& record(std::uint32_t kind, const std::string& body) {
    put(text_, kind);
    put(text_, static_cast<std::uint32_t>(16 + body.size()));
    put(text_, std::uint64_t{5});
    text_ += body;
    return *this;
  }

  std::string& text() { return text_; }

 private:
  std::string text_;
  std::uint64_t count_ = 0;
};

class JitDump : public testing::Test {
 protected:
  JitDump() : file_(mkstemp(path_)) { unlink(path_); }
  ~JitDump() override { close(file_); }

  bool read(const std::string& text, PerfMap& map) const {
    EXPECT_EQ(ftruncate(file_, 0), 0);
    EXPECT_EQ(pwrite(file_, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return read_jit_dump(file_, process, map);
  }

  std::string name(const std::string& text, std::uint64_t address) const {
    PerfMap map({address});
    return read(text, map) ? std::string(map.name_at(address)) : "none";
  }

 private:
  char path_[32] = "/tmp/jit_dump_test_XXXXXX";
  int file_;
};

TEST_F(JitDump, CodeHasTheNameOfItsRecord) {
  Dump dump;
  dump.record(2, "debug information").load(0x1000, 16, "JS:*handle /srv/app.js:14:3").record(4, "unwinding");
  dump.load(0x2000, 8, "py::run:/srv/app.py");
  EXPECT_EQ(name(dump.text(), 0x100f), "JS:*handle /srv/app.js:14:3");
  EXPECT_EQ(name(dump.text(), 0x2000), "py::run:/srv/app.py");
  EXPECT_EQ(name(dump.text(), 0x1010), "");
  EXPECT_EQ(name(dump.text(), 0x2008), "");
}

TEST_F(JitDump, CodeOfTwoNamesAndWhatMovedHaveNone) {
  Dump dump;
  dump.load(0x1000, 16, "first")
      .load(0x1008, 16, "second")
      .load(0x2000, 16, "moves")
      .move(0x2000, 0x1014, 16);
  EXPECT_EQ(name(dump.text(), 0x1000), "first");
  EXPECT_EQ(name(dump.text(), 0x1008), "");
  EXPECT_EQ(name(dump.text(), 0x1010), "second");
  EXPECT_EQ(name(dump.text(), 0x1014), "") << "other code moved there";
  EXPECT_EQ(name(dump.text(), 0x2000), "moves");
}

TEST_F(JitDump, AnotherFileIsNone) {
  for (Dump dump : {Dump(2), Dump(1, process + 1), Dump(1, process, EM_386)}) {
    EXPECT_EQ(name(dump.load(0x1000, 16, "one").text(), 0x1000), "none");
  }
  EXPECT_EQ(name("1000 10 one\n", 0x1000), "none");
  EXPECT_EQ(name("", 0x1000), "none");
}

TEST_F(JitDump, WhatIsHalfWrittenEndsIt) {
  Dump dump;
  const std::string first = dump.load(0x1000, 16, "one").text();
  const std::string whole = dump.load(0x2000, 16, "two").text();
  for (std::size_t size = first.size(); size < whole.size(); ++size) {
    EXPECT_EQ(name(whole.substr(0, size), 0x1000), "one") << size;
    EXPECT_EQ(name(whole.substr(0, size), 0x2000), "") << size;
  }
  EXPECT_EQ(name(whole, 0x2000), "two");
}

TEST_F(JitDump, ARecordOfNoSenseEndsIt) {
  for (const std::uint32_t bytes : {0U, 15U, 0xffffffffU}) {
    Dump dump;
    dump.load(0x1000, 16, "one");
    put(dump.text(), std::uint32_t{0});
    put(dump.text(), bytes);
    put(dump.text(), std::uint64_t{0});
    dump.load(0x2000, 16, "two");
    EXPECT_EQ(name(dump.text(), 0x1000), "one") << bytes;
    EXPECT_EQ(name(dump.text(), 0x2000), "") << bytes;
  }
  Dump dump;
  dump.record(0, "too short").load(0x1000, 16, "one");
  EXPECT_EQ(name(dump.text(), 0x1000), "one");
}

TEST_F(JitDump, ANameThatIsTooLongNamesNothing) {
  Dump dump;
  dump.load(0x1000, 16, "short").load(0x1000, 16, std::string(3 * PerfMap::most_line_bytes, 'a'));
  dump.load(0x2000, 16, "next");
  EXPECT_EQ(name(dump.text(), 0x1000), "");
  EXPECT_EQ(name(dump.text(), 0x2000), "next");
}

// As the process of this test would write it, in the folder that it works in.
TEST(JitDumpFile, IsReadWhereThereIsNoMap) {
  const std::uint32_t number = (1U << 30) + static_cast<std::uint32_t>(getpid());
  const std::string dump = "jit-" + std::to_string(number) + ".dump";
  const std::string map = "/tmp/perf-" + std::to_string(number) + ".map";
  const auto names = [&] {
    const PerfMapFile file(static_cast<std::uint32_t>(getpid()), number, false, 0);
    const LooseFrame frames[] = {{7, 0x1004}};
    std::string problem;
    std::string found;
    for (const trace::CodeName& one : file.names_of(frames, problem)) found += one.name;
    return found + problem;
  };
  EXPECT_EQ(names(), "");
  for (const std::string& path : {dump, "/tmp/" + dump}) {
    std::ofstream(path) << Dump(1, number).load(0x1000, 16, "dumped").text();
    EXPECT_EQ(names(), "dumped") << path;
    remove(path.c_str());
  }
  std::ofstream(dump) << Dump(1, number).load(0x1000, 16, "dumped").text();
  std::ofstream(map) << "1000 10 mapped\n";
  EXPECT_EQ(names(), "mapped");
  remove(map.c_str());
  ASSERT_EQ(truncate(dump.c_str(), PerfMapFile::most_dump_bytes + 1), 0);
  EXPECT_EQ(names(), dump + " is larger than 1024 MiB: it was not read");
  remove(dump.c_str());
}

}  // namespace
}  // namespace heapwright::collect
