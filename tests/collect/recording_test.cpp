// SPDX-License-Identifier: MIT
// From slots in shared memory to events read back from the file.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>

#include "collect_run.hpp"

namespace heapwright::collect::testing {
namespace {

trace::Reader only_trace(const CollectRun& run) {
  const auto traces = run.traces();
  EXPECT_EQ(traces.size(), 1U);
  return trace::Reader::open(traces.at(0));
}

TEST(Recording, KeepsEveryEventOfEveryThread) {
  CollectRun run;
  const Outcome outcome = run.run({}, {fake_program, "events", "4", "100000"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  const trace::Reader reader = only_trace(run);
  EXPECT_TRUE(reader.damage().empty());
  ASSERT_EQ(reader.threads().size(), 4U);
  for (std::uint32_t thread = 0; thread < 4; ++thread) {
    expect_numbered(reader, thread, 100000);
    EXPECT_EQ(reader.threads()[thread].events, 100000U);
    EXPECT_EQ(reader.threads()[thread].name, "collect_fake_pr");
  }
  EXPECT_EQ(reader.end().reason, trace::EndReason::exited);
  EXPECT_EQ(reader.end().status, 0);
  EXPECT_EQ(reader.end().events, 400000U);
  EXPECT_EQ(reader.end().dropped, 0U);
  EXPECT_EQ(reader.metadata().program, "/fake/program");
  EXPECT_EQ(reader.metadata().allocator, "fake 1.0");
  EXPECT_FALSE(reader.memory_samples().empty());
}

// More threads at once than the collector begins chunks for.
TEST(Recording, KeepsEveryEventOfManyThreads) {
  CollectRun run;
  const Outcome outcome = run.run({}, {fake_program, "events", "260", "10000"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  const trace::Reader reader = only_trace(run);
  EXPECT_TRUE(reader.damage().empty());
  ASSERT_EQ(reader.threads().size(), 260U);
  for (std::uint32_t thread = 0; thread < 260; ++thread) expect_numbered(reader, thread, 10000);
}

TEST(Recording, FewEventsAreWrittenWhileTheProgramRuns) {
  CollectRun run;
  const pid_t collector = run.start({"--output", "t.heapwright"}, {fake_program, "pause", "5"});
  const auto has_five = [&] {
    const auto traces = run.traces();
    return !traces.empty() && std::filesystem::file_size(traces[0]) > 32 &&
           trace::Reader::open(traces[0]).event_count() == 5;
  };
  EXPECT_TRUE(wait_until(has_five));
  // Goes on to the program.
  kill(collector, SIGTERM);
  run.wait(collector);
  expect_numbered(only_trace(run), 0, 5);
}

TEST(Recording, NewOwnerOfALaneIsANewThread) {
  CollectRun run;
  const Outcome outcome = run.run({}, {fake_program, "lane-reuse", "20", "333"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  const trace::Reader reader = only_trace(run);
  ASSERT_EQ(reader.threads().size(), 20U);
  for (std::uint32_t thread = 0; thread < 20; ++thread) {
    expect_numbered(reader, thread, 333);
    EXPECT_NE(reader.threads()[thread].exit_ns, 0U);
  }
}

TEST(Recording, ExecEndsOneTraceAndBeginsAnother) {
  CollectRun run;
  const Outcome outcome =
      run.run({"--children", "--output", "t.%p.heapwright"}, {fake_program, "exec", "50"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  const auto traces = run.traces();
  ASSERT_EQ(traces.size(), 2U);
  EXPECT_TRUE(traces[0].ends_with(".2.heapwright"));
  const trace::Reader second = trace::Reader::open(traces[0]);
  const trace::Reader first = trace::Reader::open(traces[1]);
  EXPECT_EQ(first.end().reason, trace::EndReason::replaced);
  expect_numbered(first, 0, 50);
  EXPECT_EQ(second.end().reason, trace::EndReason::exited);
  expect_numbered(second, 0, 7);
  EXPECT_EQ(first.metadata().process_id, second.metadata().process_id);
  EXPECT_EQ(first.metadata().start_unix_ns, second.metadata().start_unix_ns);
}

TEST(Recording, FollowsAThousandForks) {
  CollectRun run;
  const Outcome outcome = run.run({"--children", "--quiet"}, {fake_program, "forks", "1000", "10"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(outcome.errors, "");
  std::uint64_t events = 0;
  const auto traces = run.traces();
  for (const std::string& path : traces) events += trace::Reader::open(path).event_count();
  EXPECT_EQ(traces.size(), 1001U);
  EXPECT_EQ(events, 10U + 1000U * 3U);
}

TEST(Recording, WaitsForAChildThatOutlivesTheProgram) {
  CollectRun run;
  const Outcome outcome = run.run({"--children"}, {fake_program, "orphan", "150"});
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_NE(outcome.errors.find("waiting for 1 of its children"), std::string::npos) << outcome.errors;
  const auto traces = run.traces();
  ASSERT_EQ(traces.size(), 2U);
  std::uint64_t events = 0;
  for (const std::string& path : traces) {
    const trace::Reader reader = trace::Reader::open(path);
    events += reader.event_count();
    EXPECT_EQ(reader.end().reason, trace::EndReason::exited);
    // -1: the kernel does not tell anybody but the parent (before 6.15).
    const bool is_parent = reader.event_count() == 1;
    EXPECT_TRUE(reader.end().status == (is_parent ? 5 : 0) || (!is_parent && reader.end().status == -1));
  }
  EXPECT_EQ(events, 3U);
}

// Everything published before the kill is in the file.
TEST(Recording, KilledProgramLosesNothingItHadWritten) {
  for (int round = 0; round < 6; ++round) {
    CollectRun run;
    const std::string progress_path = run.folder() / "progress";
    std::ofstream(progress_path) << std::string(8, '\0');
    const pid_t collector = run.start({"--output", "t.heapwright", "--summary", "s.json"},
                                      {fake_program, "endless", progress_path});
    const pid_t program = only_child_of(collector);
    usleep(static_cast<useconds_t>(20000 + round * 37000));
    kill(program, SIGKILL);
    const Outcome outcome = run.wait(collector);
    EXPECT_EQ(outcome.exit_code, 128 + SIGKILL) << outcome.errors;
    std::uint64_t written = 0;
    std::ifstream(progress_path, std::ios::binary).read(reinterpret_cast<char*>(&written), sizeof written);
    if (run.traces().empty()) {
      EXPECT_EQ(written, 0U);
      continue;
    }
    const trace::Reader reader = only_trace(run);
    EXPECT_EQ(reader.end().reason, trace::EndReason::killed);
    EXPECT_EQ(reader.end().status, SIGKILL);
    EXPECT_GE(reader.event_count(), written);
    EXPECT_LE(reader.event_count(), written + 1);
    if (reader.event_count() > 0) expect_numbered(reader, 0, reader.event_count());
  }
}

TEST(Recording, PassesTheExitCodeThrough) {
  CollectRun run;
  EXPECT_EQ(run.run({}, {"sh", "-c", "exit 42"}).exit_code, 42);
  EXPECT_EQ(run.run({}, {"sh", "-c", "kill -TERM $$"}).exit_code, 128 + SIGTERM);
}

TEST(Recording, SaysWhyNothingWasRecorded) {
  CollectRun run;
  const Outcome outcome = run.run({}, {"true"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(outcome.errors.starts_with("heapwright: nothing was recorded: no heap call of '"))
      << outcome.errors;
  EXPECT_TRUE(run.traces().empty());
}

TEST(Recording, LeavesOutputToTheProgram) {
  CollectRun run;
  EXPECT_EQ(run.run({}, {"printf", "hello"}).output, "hello");
  const Outcome outcome = run.run({"--json"}, {fake_program, "events", "1", "10"});
  EXPECT_TRUE(outcome.output.starts_with("{\"schema\": \"heapwright.recording/1\"")) << outcome.output;
  EXPECT_NE(outcome.output.find("\"events\": 10, \"dropped\": 0, \"threads\": 1"), std::string::npos)
      << outcome.output;
}

// Signal masks and dispositions, limits and open files are inherited as if
// the collector were not there.
TEST(Recording, ProgramInheritsWhatTheUserGave) {
  CollectRun run;
  const std::string with_signals = "trap '' HUP; ulimit -S -n 77; exec \"$@\"";
  const Outcome alone = run.run_command({"sh", "-c", with_signals, "sh", fake_program, "environment"});
  const Outcome recorded =
      run.run_command({"sh", "-c", with_signals, "sh", HEAPWRIGHT_TEST_COLLECTOR, "--library",
                       HEAPWRIGHT_TEST_LIBRARY, "--quiet", "--", fake_program, "environment"});
  EXPECT_EQ(alone.exit_code, 0);
  EXPECT_EQ(recorded.output, alone.output);
  EXPECT_NE(recorded.output.find("77\n"), std::string::npos) << recorded.output;
}

}  // namespace
}  // namespace heapwright::collect::testing
