// SPDX-License-Identifier: MIT
#include "collect/output_names.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "collect_run.hpp"
#include "trace/output_file.hpp"

namespace heapwright::collect {
namespace {

TEST(OutputNames, FillsInThePattern) {
  const OutputNames names("/d/%e-%h-%p-%%.x", "box", false);
  EXPECT_EQ(names.expand(42, "/usr/bin/prog"), "/d/prog-box-42-%.x");
  EXPECT_EQ(names.expand(42, "/usr/bin/prog (deleted)"), "/d/prog-box-42-%.x");
}

TEST(OutputNames, TheStartTellsProcessesOfOneIdApart) {
  const OutputNames names("%p-%s.x", "box", false);
  std::ifstream file("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string start;
  for (int field = 3; field <= 22; ++field) fields >> start;
  EXPECT_EQ(names.expand(static_cast<std::uint64_t>(getpid()), "a"),
            std::to_string(getpid()) + "-" + start + ".x");
  EXPECT_EQ(names.expand(1ULL << 40U, "a"), std::to_string(1ULL << 40U) + "-0.x") << "nobody has this id";
}

TEST(OutputNames, NameOfTheProgramCannotLeaveTheFolder) {
  EXPECT_EQ(file_name_part("/a/.."), "program");
  EXPECT_EQ(file_name_part("/a/"), "program");
  EXPECT_EQ(file_name_part(""), "program");
  EXPECT_EQ(file_name_part("/a/b\nc"), "b_c");
  EXPECT_EQ(file_name_part(std::string(600, 'x')), std::string(100, 'x'));
}

TEST(OutputNames, SecondImageOfAProcessGetsANumber) {
  OutputNames names("/nonexistent.d/%e.%p.heapwright", "box", false);
  EXPECT_EQ(names.choose(7, "a"), "/nonexistent.d/a.7.heapwright");
  EXPECT_EQ(names.choose(7, "a"), "/nonexistent.d/a.7.2.heapwright");
  EXPECT_EQ(names.choose(7, "a"), "/nonexistent.d/a.7.3.heapwright");
  EXPECT_EQ(names.choose(8, "a"), "/nonexistent.d/a.8.heapwright");
}

TEST(OutputNames, NumberGoesBeforeTheSuffixOrLast) {
  OutputNames plain("/nonexistent.d/trace", "box", false);
  EXPECT_EQ(plain.choose(7, "a"), "/nonexistent.d/trace");
  EXPECT_EQ(plain.choose(7, "a"), "/nonexistent.d/trace.2");
}

TEST(OutputNames, KeepsFilesOfEarlierRecordings) {
  const testing::CollectRun run;
  const std::string path = run.folder() / "t.heapwright";
  std::ofstream(path) << "precious";
  EXPECT_EQ(OutputNames(path, "box", false).choose(1, "a"), (run.folder() / "t.2.heapwright").string());
  EXPECT_EQ(OutputNames(path, "box", true).choose(1, "a"), path);
}

TEST(OutputNames, AStreamTakesOneRecordingOrAll) {
  OutputNames pipe("-", "box", false);
  pipe.write_to_stream(true);
  EXPECT_EQ(pipe.choose(7, "a"), "-");
  EXPECT_EQ(pipe.choose(7, "b"), "");
  OutputNames device("/dev/null", "box", false);
  device.write_to_stream(false);
  EXPECT_EQ(device.choose(7, "a"), "/dev/null");
  EXPECT_EQ(device.choose(7, "b"), "/dev/null");
}

TEST(OutputNames, ALinkThatIsReplacedStaysALink) {
  const testing::CollectRun run;
  const std::string folder = run.folder();
  std::ofstream(folder + "/old") << "old";
  std::filesystem::create_symlink("old", folder + "/link");
  trace::OutputFile file;
  EXPECT_EQ(file.create(folder + "/link", true), 0);
  EXPECT_TRUE(std::filesystem::is_symlink(folder + "/link"));
  EXPECT_EQ(std::filesystem::file_size(folder + "/old"), 0U);
}

TEST(OutputNames, SaysWhyAFileCannotBeWritten) {
  const testing::CollectRun run;
  const std::string folder = run.folder();
  const OutputNames names("x", "box", false);
  const OutputNames replacing("x", "box", true);
  std::ofstream(folder + "/there") << "precious";
  EXPECT_EQ(names.why_not_writable(folder + "/new"), "");
  EXPECT_EQ(names.why_not_writable(folder + "/there"),
            "'" + folder + "/there' exists; use --force to replace it or choose another with --output");
  EXPECT_EQ(replacing.why_not_writable(folder + "/there"), "");
  EXPECT_EQ(
      names.why_not_writable(folder + "/none/x"),
      "the output folder '" + folder + "/none' does not exist; create it or choose another with --output");
  EXPECT_EQ(names.why_not_writable(folder + "/there/x"),
            "'" + folder + "/there' is not a folder; choose another with --output");
  EXPECT_EQ(replacing.why_not_writable(folder + "/work"),
            "'" + folder + "/work' is a folder; choose a file with --output");
  EXPECT_TRUE(names.why_not_writable("/proc/x").starts_with("cannot write '/proc/x' ("));
  EXPECT_FALSE(std::filesystem::exists(folder + "/new"));
}

}  // namespace
}  // namespace heapwright::collect
