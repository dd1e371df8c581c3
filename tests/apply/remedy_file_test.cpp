// SPDX-License-Identifier: MIT
#include "apply/remedy_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>

namespace heapwright::apply {
namespace {

constexpr char good_file[] = R"(# A comment.
version = 1

[[module]]
name = "a \"server\""
build_id = "00ff10"   # of three bytes
[[module]]
name = "libc.so.6"
build_id = "abcdef"

[[remedy]]
change = "segregate"
site = "session() server.cpp:12"
stacks = [
  ["0:0x1234"], ["1:0xab", "0:0xffffffffffffffff"],
]
[[remedy]]
change = "reuse"
most_bytes = 1048576
stacks = [["1:0x1"]]
[[remedy]]
change = "trim"
every_ms = 500)";

std::unique_ptr<Remedies> remedies = std::make_unique<Remedies>();

std::string error_of(const std::string& text) {
  const FileError error = parse_remedies(text.data(), text.size(), *remedies);
  if (error.what == nullptr) return "";
  return std::to_string(error.line) + ": " + error.what;
}

TEST(RemedyFile, IsReadWhole) {
  ASSERT_EQ(error_of(good_file), "");
  ASSERT_EQ(remedies->module_count, 2U);
  EXPECT_STREQ(remedies->modules[0].name, "a \"server\"");
  ASSERT_EQ(remedies->modules[0].build_id_bytes, 3U);
  EXPECT_EQ(std::memcmp(remedies->modules[0].build_id, "\x00\xff\x10", 3), 0);
  ASSERT_EQ(remedies->remedy_count, 3U);
  EXPECT_EQ(remedies->remedies[0].kind, RemedyKind::segregate);
  EXPECT_STREQ(remedies->remedies[0].site, "session() server.cpp:12");
  EXPECT_EQ(remedies->remedies[1].kind, RemedyKind::reuse);
  EXPECT_EQ(remedies->remedies[1].most_bytes, 1048576U);
  EXPECT_EQ(remedies->remedies[2].every_ms, 500U);
  ASSERT_EQ(remedies->stack_count, 3U);
  EXPECT_EQ(remedies->stacks[1].remedy, 0U);
  ASSERT_EQ(remedies->stacks[1].frame_count, 2U);
  EXPECT_EQ(remedies->stacks[1].frames[0].module, 1U);
  EXPECT_EQ(remedies->stacks[1].frames[1].offset, ~std::uint64_t{0});
  EXPECT_EQ(remedies->stacks[2].remedy, 1U);
}

TEST(RemedyFile, SaysWhereAndWhatIsWrong) {
  EXPECT_EQ(error_of(""), "1: no version: this is no remedy file");
  EXPECT_EQ(error_of("version = 2\n"), "1: a version of the file that is not known here: write it anew");
  EXPECT_EQ(error_of("version = 1\n"), "2: no remedy in it");
  EXPECT_EQ(error_of("version = 1\n[remedy]\n"), "2: expected [[module]] or [[remedy]]");
  EXPECT_EQ(error_of("version = 1 2\n"), "1: more than one value in a line");
  EXPECT_EQ(error_of("version = 99999999999999999999999\n"), "1: a number that is too large");
  const std::string remedy = "version = 1\n[[remedy]]\n";
  EXPECT_EQ(error_of(remedy + "change = \"arena\"\n"), "3: a change that is not known here");
  EXPECT_EQ(error_of(remedy + "change = \"segregate\"\n"), "4: a remedy without stacks");
  EXPECT_EQ(error_of(remedy + "change = \"trim\"\nevery_ms = 1\n"), "4: every_ms is 10 to 3600000");
  EXPECT_EQ(error_of(remedy + "change = \"trim\"\n"), "4: trim needs every_ms");
  EXPECT_EQ(error_of(remedy + "change = \"skip-frees-at-exit\"\n"), "");
  EXPECT_EQ(error_of(remedy + "change = \"defer\"\n"), "4: a remedy without stacks");
  EXPECT_EQ(error_of(remedy + "site = \"a\nb\"\n"), "3: a text that its line does not end");
  EXPECT_EQ(error_of(remedy + "site = \"" + std::string(200, 'x') + "\"\n"), "3: a text that is too long");
  EXPECT_EQ(error_of(remedy + "site = \"\\n\"\n"), "3: an escape other than \\\" and \\\\");
  EXPECT_EQ(error_of(remedy + "stacks = [\n[\"0:0x1\"]\n"), "5: a list that does not end");
  EXPECT_EQ(error_of(remedy + "stacks = [[\"0:1\"]]\n"), "3: a frame is \"module:0xoffset\"");
  EXPECT_EQ(error_of(remedy + "stacks = [[\"0:0x11112222333344445\"]]\n"), "3: a number that is too large");
  EXPECT_EQ(error_of(remedy + "site: \"f\"\n"), "3: expected name = value, with a name that is known here");
  EXPECT_EQ(error_of(remedy + "sites = \"f\"\n"), "3: expected name = value, with a name that is known here");
  EXPECT_EQ(error_of(remedy + "change = \"reuse\"\nstacks = [[\"0:0x1\"]]\n"),
            "5: a frame of a module that is not listed");
  EXPECT_EQ(error_of("version = 1\n[[module]]\nbuild_id = \"0g\"\n"), "3: a build id that is none");
  EXPECT_EQ(error_of("version = 1\n[[module]]\nname = \"m\"\n"), "4: a module without a build id");
  EXPECT_EQ(remedies->remedy_count, 0U);
}

TEST(RemedyFile, HasBounds) {
  std::string remedy_lines = "version = 1\n";
  for (std::size_t i = 0; i <= most_remedies; ++i) remedy_lines += "[[remedy]]\n";
  EXPECT_EQ(error_of(remedy_lines), "18: more than 16 remedies");
  std::string module_lines = "version = 1\n";
  for (std::size_t i = 0; i <= most_modules; ++i) module_lines += "[[module]]\n";
  EXPECT_EQ(error_of(module_lines), "34: more than 32 modules");
  std::string stacks = "version = 1\n[[remedy]]\nstacks = [\n";
  for (std::size_t i = 0; i <= most_stacks; ++i) stacks += "[\"0:0x1\"],\n";
  EXPECT_EQ(error_of(stacks), "516: more than 512 stacks");
  std::string frames = "version = 1\n[[remedy]]\nstacks = [[\"0:0x1\"";
  for (std::size_t i = 0; i < most_frames; ++i) frames += ", \"0:0x1\"";
  EXPECT_EQ(error_of(frames + "]]\n"), "3: more than 8 frames in a stack");
}

// Whatever is cut off or changed: an answer, and nothing read beside the text.
TEST(RemedyFile, SurvivesAnyDamage) {
  const std::string good = good_file;
  for (std::size_t length = 0; length < good.size() - 3; ++length) {
    const auto exact = std::make_unique<char[]>(length + 1);  // AddressSanitizer sees a byte too many
    std::memcpy(exact.get() + 1, good.data(), length);
    const FileError error = parse_remedies(exact.get() + 1, length, *remedies);
    const bool is_whole_remedy = remedies->remedy_count != 0;
    EXPECT_EQ(error.what == nullptr, is_whole_remedy) << length;
  }
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char letter : {'\0', '"', '[', ']', '\n', '9', '\xff'}) {
      std::string damaged = good;
      damaged[at] = letter;
      error_of(damaged);
      ASSERT_LE(remedies->stack_count, most_stacks);
      for (std::uint32_t i = 0; i < remedies->stack_count; ++i) {
        ASSERT_LE(remedies->stacks[i].frame_count, most_frames);
        ASSERT_LT(remedies->stacks[i].remedy, remedies->remedy_count);
      }
    }
  }
}

TEST(RemedyFile, IsReadFromFilesOnly) {
  EXPECT_STREQ(read_remedies("/nonexistent/remedy.toml", *remedies).what, "cannot be opened");
  EXPECT_STREQ(read_remedies("/", *remedies).what, "cannot be read");
  EXPECT_STREQ(read_remedies("/dev/zero", *remedies).what, "is longer than 256 KiB");
  char path[] = "/tmp/remedy_file_test_XXXXXX";
  const int file = mkstemp(path);
  ASSERT_GE(file, 0);
  ASSERT_EQ(write(file, good_file, sizeof good_file - 1), static_cast<ssize_t>(sizeof good_file - 1));
  close(file);
  EXPECT_EQ(read_remedies(path, *remedies).what, nullptr);
  EXPECT_EQ(remedies->remedy_count, 3U);
  unlink(path);
  ASSERT_EQ(mkfifo(path, 0600), 0);  // nobody writes to it
  EXPECT_STREQ(read_remedies(path, *remedies).what, "no version: this is no remedy file");
  unlink(path);
}

}  // namespace
}  // namespace heapwright::apply
