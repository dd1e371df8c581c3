// SPDX-License-Identifier: MIT
// Recordings that stop before the program does.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "collect_run.hpp"

namespace heapwright::collect::testing {
namespace {

class Limits : public ::testing::Test {
 protected:
  Limits() { std::ofstream(progress_path()) << std::string(8, '\0'); }
  std::string progress_path() const { return run_.folder() / "progress"; }
  std::string trace_path() const { return run_.folder() / "work" / "t.heapwright"; }
  // A program that writes events until the collector closes the session.
  std::vector<std::string> endless() const { return {fake_program, "endless", progress_path()}; }
  std::uint64_t progress() const {
    std::uint64_t written = 0;
    std::ifstream(progress_path(), std::ios::binary).read(reinterpret_cast<char*>(&written), sizeof written);
    return written;
  }
  // Whether the recording stopped: the program writes all the time otherwise, however busy the machine is.
  bool stands_still() const {
    const std::uint64_t before = progress();
    usleep(500'000);
    return before == progress();
  }
  CollectRun run_;
};

TEST_F(Limits, SizeStopsTheRecordingAndNotTheProgram) {
  const Outcome outcome = run_.run({"--output", "t.heapwright", "--max-size", "256k"}, endless());
  EXPECT_EQ(outcome.exit_code, 4) << outcome.errors;
  EXPECT_NE(outcome.errors.find("heapwright: the size set by --max-size is reached; the recording stops "
                                "here, the program goes on\n"),
            std::string::npos)
      << outcome.errors;
  EXPECT_LE(std::filesystem::file_size(trace_path()), 256U * 1024);
  const trace::Reader reader = trace::Reader::open(trace_path());
  EXPECT_EQ(reader.end().reason, trace::EndReason::size_limit);
  EXPECT_TRUE(reader.damage().empty());
  EXPECT_GT(reader.event_count(), 1000U);
  expect_numbered(reader, 0, reader.event_count());
}

TEST_F(Limits, TimeStopsTheRecordingAndNotTheProgram) {
  const Outcome outcome = run_.run({"--output", "t.heapwright", "--duration", "0.1"}, endless());
  EXPECT_EQ(outcome.exit_code, 4) << outcome.errors;
  EXPECT_NE(outcome.errors.find("the time set by --duration is over"), std::string::npos) << outcome.errors;
  const trace::Reader reader = trace::Reader::open(trace_path());
  EXPECT_EQ(reader.end().reason, trace::EndReason::duration_limit);
  EXPECT_GE(reader.end().time_ns, 100'000'000U);
  expect_numbered(reader, 0, reader.event_count());
}

TEST_F(Limits, FullDiskKeepsWhatWasWritten) {
  run_.limit_file_bytes(200'000);
  const Outcome outcome = run_.run({"--output", "t.heapwright"}, endless());
  EXPECT_EQ(outcome.exit_code, 4) << outcome.errors;
  EXPECT_NE(outcome.errors.find("heapwright: cannot write 't.heapwright' (File too large); the recording "
                                "stops here, the program goes on\n"),
            std::string::npos)
      << outcome.errors;
  EXPECT_NE(outcome.errors.find(", none dropped; incomplete: File too large\n"), std::string::npos)
      << outcome.errors;
  const trace::Reader reader = trace::Reader::open(trace_path());
  EXPECT_GT(reader.event_count(), 1000U);
  expect_numbered(reader, 0, reader.event_count());
}

TEST_F(Limits, ControlFileStartsAndStops) {
  const std::string control = run_.folder() / "control";
  const pid_t collector = run_.start(
      {"--output", "t.heapwright", "--paused", "--control", control, "--duration", "60"}, endless());
  usleep(30'000);
  EXPECT_EQ(progress(), 0U);
  std::ofstream(control) << "start\n";
  EXPECT_TRUE(wait_until([&] { return progress() > 10'000; }));
  std::ofstream(control) << "stop\n";
  EXPECT_TRUE(wait_until([&] { return stands_still(); }));
  const std::uint64_t before = progress();
  std::ofstream(control) << "start";
  EXPECT_TRUE(wait_until([&] { return progress() > before; }));
  std::ofstream(control) << "stop";
  EXPECT_TRUE(wait_until([&] { return stands_still(); }));
  kill(collector, SIGTERM);  // passed on to the program
  const Outcome outcome = run_.wait(collector);
  EXPECT_EQ(outcome.exit_code, 128 + SIGTERM) << outcome.errors;
  const trace::Reader reader = trace::Reader::open(trace_path());
  EXPECT_EQ(reader.end().reason, trace::EndReason::killed) << "how the program ended is known all the same";
  expect_numbered(reader, 0, progress());
  ASSERT_EQ(reader.switches().size(), 5U) << "paused, on, off, on, off";
  EXPECT_EQ(reader.switches()[0].time_ns, 0U);
  for (std::size_t number = 0; number < reader.switches().size(); ++number) {
    EXPECT_EQ(reader.switches()[number].is_on, number % 2 == 1);
    EXPECT_TRUE(number == 0 || reader.switches()[number].time_ns > reader.switches()[number - 1].time_ns);
  }
  EXPECT_LT(reader.switches().back().time_ns, reader.end().time_ns);
}

TEST_F(Limits, ControlFileThatSaysSomethingElseIsNamed) {
  const std::string control = run_.folder() / "control";
  std::ofstream(control) << "go";
  const Outcome outcome = run_.run({"--control", control}, {"true"});
  EXPECT_NE(outcome.errors.find("heapwright: the control file '" + control +
                                "' must say start, stop or snapshot\n"),
            std::string::npos)
      << outcome.errors;
}

TEST_F(Limits, NothingIsStartedWhenTheFileExists) {
  std::ofstream(trace_path()) << "precious";
  const std::string witness = run_.folder() / "started";
  const Outcome outcome = run_.run({"--output", "t.heapwright"}, {"touch", witness});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.errors,
            "heapwright: 't.heapwright' exists; use --force to replace it or choose another with --output\n");
  EXPECT_FALSE(std::filesystem::exists(witness));
  EXPECT_EQ(run_.run({"--output", "t.heapwright", "--force"}, {fake_program, "events", "1", "5"}).exit_code,
            0);
  expect_numbered(trace::Reader::open(trace_path()), 0, 5);
}

TEST_F(Limits, ChildrenCanBeLeftByAskingTheCollectorToEnd) {
  const pid_t collector = run_.start({"--children"}, {fake_program, "orphan", "20000"});
  EXPECT_TRUE(
      wait_until([&] { return run_.errors().find("waiting for 1 of its children") != std::string::npos; }));
  kill(collector, SIGINT);
  const Outcome outcome = run_.wait(collector);
  EXPECT_EQ(outcome.exit_code, 5) << outcome.errors;
  EXPECT_NE(outcome.errors.find("the program's children go on"), std::string::npos) << outcome.errors;
  int stopped = 0;
  for (const std::string& path : run_.traces()) {
    stopped += trace::Reader::open(path).end().reason == trace::EndReason::stopped;
  }
  EXPECT_EQ(stopped, 1);
}

}  // namespace
}  // namespace heapwright::collect::testing
