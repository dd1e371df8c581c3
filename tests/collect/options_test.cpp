// SPDX-License-Identifier: MIT
#include "collect/options.hpp"

#include <gtest/gtest.h>

namespace heapwright::collect {
namespace {

std::string complaint_about(const std::vector<std::string>& arguments) {
  try {
    parse_options(arguments);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Options, DefaultsRecordEverythingOfOneProcess) {
  const Options options = parse_options({"--", "prog", "-x", "--force"});
  EXPECT_EQ(options.command, (std::vector<std::string>{"prog", "-x", "--force"}));
  EXPECT_EQ(options.output_pattern, "%e.%p.heapwright");
  EXPECT_TRUE(options.durations);
  EXPECT_TRUE(options.stacks);
  EXPECT_FALSE(options.free_stacks);
  EXPECT_FALSE(options.follow_children);
  EXPECT_FALSE(options.replace_existing);
  EXPECT_EQ(options.max_frames, 128U);
  EXPECT_EQ(options.sample_mean_bytes, 0U);
}

TEST(Options, SnapshotsAreTakenAtSeveralTimesAndNeedEveryBlock) {
  EXPECT_FALSE(parse_options({"prog"}).snapshots.any());
  EXPECT_TRUE(parse_options({"--snapshot", "end", "prog"}).snapshots.at_end);
  const SnapshotWishes wishes = parse_options({"--snapshot", "peak,every=2.5,above=2G", "prog"}).snapshots;
  EXPECT_TRUE(wishes.at_peak);
  EXPECT_FALSE(wishes.at_end);
  EXPECT_EQ(wishes.every_ns, 2'500'000'000U);
  EXPECT_EQ(wishes.above_bytes, 2ULL << 30U);
  EXPECT_EQ(parse_options({"--snapshot-of", "42"}).snapshot_of, 42);
  EXPECT_EQ(complaint_about({"--snapshot", "end,often", "prog"}),
            "--snapshot takes end, peak, every=10m or above=2G, not 'often'");
  EXPECT_EQ(complaint_about({"--snapshot", "every=0", "prog"}),
            "--snapshot every takes a time above 0 such as 2.5s, 300ms or 10m, not '0'");
  EXPECT_TRUE(parse_options({"--snapshot", "end", "--sample", "1k", "prog"}).snapshots.at_end);
}

TEST(Options, TakesValuesInBothForms) {
  const Options options =
      parse_options({"--output", "a", "--max-frames=5", "--sample", "512k", "--max-size=2G", "--duration",
                     "1.5", "--control", "c", "--summary=s", "--library", "l", "prog"});
  EXPECT_EQ(options.output_pattern, "a");
  EXPECT_EQ(options.max_frames, 5U);
  EXPECT_EQ(options.sample_mean_bytes, 512U * 1024);
  EXPECT_EQ(options.max_size_bytes, 2ULL << 30);
  EXPECT_EQ(options.duration_ns, 1'500'000'000U);
  EXPECT_EQ(options.control_path, "c");
  EXPECT_EQ(options.summary_path, "s");
  EXPECT_EQ(options.library_path, "l");
  EXPECT_EQ(options.command, std::vector<std::string>{"prog"});
}

TEST(Options, TakesFlags) {
  const Options options = parse_options({"--force", "--children", "--free-stacks", "--no-durations",
                                         "--paused", "--keep-arguments", "--no-settings", "--no-residency",
                                         "--no-kernel-events", "--json", "--quiet", "prog"});
  EXPECT_TRUE(options.replace_existing && options.follow_children && options.free_stacks &&
              options.starts_paused);
  EXPECT_FALSE(options.keep_settings);
  EXPECT_FALSE(options.residency);
  EXPECT_FALSE(options.kernel_events);
  EXPECT_TRUE(options.keep_arguments && options.print_json && options.is_quiet);
  EXPECT_FALSE(options.durations);
  EXPECT_FALSE(parse_options({"--no-stacks", "prog"}).stacks);
  EXPECT_TRUE(parse_options({"--when-full", "drop", "prog"}).drops_when_full);
  EXPECT_FALSE(parse_options({"--when-full", "wait", "prog"}).drops_when_full);
}

TEST(Options, SaysWhatIsWrong) {
  EXPECT_EQ(complaint_about({}), "name the program to record: heapwright-collect -- PROGRAM [ARGUMENTS]");
  EXPECT_EQ(complaint_about({"--quiet", "--"}),
            "name the program to record: heapwright-collect -- PROGRAM [ARGUMENTS]");
  EXPECT_EQ(complaint_about({"--outptu", "x", "--", "p"}),
            "unknown option --outptu; heapwright-collect --help lists them");
  EXPECT_EQ(complaint_about({"-v", "p"}), "unknown option -v; heapwright-collect --help lists them");
  EXPECT_EQ(complaint_about({"--force=1", "p"}), "--force takes no value");
  EXPECT_EQ(complaint_about({"--output"}), "--output needs a value; heapwright-collect --help says which");
  EXPECT_EQ(complaint_about({"--when-full", "no", "p"}), "--when-full takes wait or drop, not 'no'");
  EXPECT_EQ(complaint_about({"--output", "", "p"}), "--output must not be empty");
  EXPECT_EQ(complaint_about({"--output", "x%d", "p"}),
            "--output knows %p, %s, %h, %e and %% only; write %% for a percent sign in 'x%d'");
  EXPECT_EQ(complaint_about({"--output", "x%", "p"}),
            "--output knows %p, %s, %h, %e and %% only; write %% for a percent sign in 'x%'");
  EXPECT_EQ(complaint_about({"--output", "/tmp/", "p"}),
            "--output must name a file, not a folder: add %e.%p.heapwright to '/tmp/'");
  EXPECT_EQ(complaint_about({"--max-frames", "129", "p"}),
            "--max-frames takes a whole number from 1 to 128, not '129'");
  EXPECT_EQ(complaint_about({"--max-frames", "x", "p"}),
            "--max-frames takes a whole number from 1 to 128, not 'x'");
  EXPECT_EQ(complaint_about({"--duration", "-1", "p"}),
            "--duration takes a time above 0 such as 2.5s, 300ms or 10m, not '-1'");
  EXPECT_EQ(complaint_about({"--duration", "nan", "p"}),
            "--duration takes a time above 0 such as 2.5s, 300ms or 10m, not 'nan'");
  EXPECT_EQ(complaint_about({"--sample", "1", "--room", "1023k", "p"}), "--room must be at least 1M");
  EXPECT_EQ(complaint_about({"--room", "1M", "p"}),
            "--room needs --sample BYTES; a recording of every call stops at --max-size");
  EXPECT_EQ(complaint_about({"--max-size", "10", "p"}), "--max-size must be at least 64k");
  EXPECT_EQ(complaint_about({"--free-stacks", "--no-stacks", "p"}),
            "--free-stacks and --no-stacks exclude each other; drop one");
}

TEST(Options, TimesTakeUnits) {
  const auto read = [](const char* text) { return parse_options({"--duration", text, "p"}).duration_ns; };
  EXPECT_EQ(read("2"), 2'000'000'000U);
  EXPECT_EQ(read("2s"), 2'000'000'000U);
  EXPECT_EQ(read("500ms"), 500'000'000U);
  EXPECT_EQ(read("7ns"), 7U);
  EXPECT_EQ(read("3us"), 3'000U);
  EXPECT_EQ(read("10m"), 600'000'000'000U);
  EXPECT_EQ(read("10min"), 600'000'000'000U);
  EXPECT_EQ(read("1.5h"), 5'400'000'000'000U);
  EXPECT_EQ(read("0.1ns"), 1U);
  for (const char* text : {"s", "0", "0s", "2x", "2 s", "2ss", "1e3", "inf", "10M"}) {
    EXPECT_THROW(read(text), UsageError) << text;
  }
}

TEST(Options, BytesTakeSuffixes) {
  EXPECT_EQ(parse_bytes("--x", "1"), 1U);
  EXPECT_EQ(parse_bytes("--x", "3K"), 3U << 10);
  EXPECT_EQ(parse_bytes("--x", "3m"), 3U << 20);
  EXPECT_EQ(parse_bytes("--x", "4G"), 4ULL << 30);
  EXPECT_EQ(parse_bytes("--x", "1.5M"), 3U << 19);
  EXPECT_EQ(parse_bytes("--x", "10MB"), 10U << 20);
  EXPECT_EQ(parse_bytes("--x", "512KiB"), 512U << 10);
  EXPECT_EQ(parse_bytes("--x", "1T"), 1ULL << 40);
  EXPECT_EQ(parse_bytes("--x", "9B"), 9U);
  for (const char* text : {"", "k", "0", "-1", "0.5", "1kk", "1ki", "1bb", "b", "1 k", "99999999999999999999",
                           "9999999999999G"}) {
    EXPECT_THROW(parse_bytes("--x", text), UsageError) << text;
  }
}

TEST(Options, HelpNeedsNoProgram) {
  EXPECT_TRUE(parse_options({"--help"}).show_help);
  EXPECT_TRUE(parse_options({"--version"}).show_version);
}

}  // namespace
}  // namespace heapwright::collect
