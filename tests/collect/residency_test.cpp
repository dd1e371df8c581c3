// SPDX-License-Identifier: MIT
// Scans of resident pages, of a program that knows which it has touched.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "collect_run.hpp"

namespace heapwright::collect::testing {
namespace {

using trace::PageKind;
using trace::ResidencyScan;
using trace::ScanCause;

std::uint64_t bytes_of(const ResidencyScan& scan, PageKind kind) {
  std::uint64_t bytes = 0;
  for (const trace::PageRun& run : scan.runs) bytes += run.kind == kind ? run.end - run.begin : 0;
  return bytes;
}

}  // namespace

TEST(Residency, ScansWhatAProgramTouchedBeforeItExits) {
  constexpr std::uint64_t touched = 3000;
  CollectRun run;
  const Outcome outcome = run.run({"--quiet"}, {fake_program, "pages", std::to_string(touched)});
  EXPECT_EQ(outcome.exit_code, 0) << "the collector answers; " << outcome.errors;
  const std::uint64_t begin = std::stoul(outcome.output, nullptr, 16);
  const trace::Reader reader = trace::Reader::open(run.traces().at(0));
  ASSERT_FALSE(reader.scans().empty());
  const ResidencyScan scan = reader.decode(reader.scans().back());
  EXPECT_EQ(scan.cause, ScanCause::exit);
  EXPECT_TRUE(scan.is_whole);
  EXPECT_GT(scan.windows.size(), 1U);
  EXPECT_EQ(reader.memory_samples().back().resident_anonymous_bytes, scan.before.anonymous_bytes)
      << "the end of the timeline is what was there at the end";
  // The program sleeps: the pages are what the kernel counts.
  EXPECT_EQ(scan.before, scan.after);
  EXPECT_EQ(bytes_of(scan, PageKind::anonymous), scan.before.anonymous_bytes);
  EXPECT_EQ(bytes_of(scan, PageKind::file), scan.before.file_bytes + scan.before.shared_bytes);
  std::uint64_t found = 0;
  for (const trace::PageRun& pages : scan.runs) {
    for (std::uint64_t at = pages.begin; at < pages.end; at += 4096) {
      if (at < begin || at >= begin + 3 * touched * 4096) continue;
      EXPECT_EQ((at - begin) / 4096 % 3, 0U);
      ++found;
    }
  }
  EXPECT_EQ(found, touched);
  const auto mappings = reader.mappings_of(reader.scans().back());
  EXPECT_TRUE(std::any_of(mappings.begin(), mappings.end(), [](const trace::Mapping& mapping) {
    return mapping.name.ends_with("/collect_fake_program");
  }));
  EXPECT_TRUE(std::any_of(mappings.begin(), mappings.end(), [](const trace::Mapping& mapping) {
    return mapping.name.starts_with("/memfd:heapwright");
  })) << "the recorder's own memory is told by its name";
}

TEST(Residency, WithoutScansAProgramThatAsksIsLetGo) {
  CollectRun run;
  const Outcome outcome = run.run({"--quiet", "--no-residency"}, {fake_program, "pages", "10"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_TRUE(trace::Reader::open(run.traces().at(0)).scans().empty());
}

// Nothing happens after the first events: one scan says it all.
TEST(Residency, AProgramThatRestsIsNotScannedAgain) {
  CollectRun run;
  const pid_t collector = run.start({"--output", "t.heapwright", "--quiet"}, {fake_program, "pause", "5"});
  const auto is_scanned = [&] {
    const auto traces = run.traces();
    return !traces.empty() && std::filesystem::file_size(traces[0]) > 32 &&
           !trace::Reader::open(traces[0]).scans().empty();
  };
  EXPECT_TRUE(wait_until(is_scanned));
  usleep(700'000);
  kill(collector, SIGTERM);
  run.wait(collector);
  EXPECT_LE(trace::Reader::open(run.traces().at(0)).scans().size(), 3U);
}

}  // namespace heapwright::collect::testing
