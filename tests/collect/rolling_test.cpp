// SPDX-License-Identifier: MIT
// --room: a recording that goes on in a file below a size.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <optional>

#include "collect_run.hpp"

namespace heapwright::collect::testing {
namespace {

constexpr std::uint64_t room_bytes = 1 << 20;

class Keeping : public ::testing::Test {
 protected:
  std::string trace_path() const { return run_.folder() / "work" / "t.heapwright"; }
  std::vector<std::string> options() const {
    return {"--output", "t.heapwright", "--sample", "1", "--room", "1M"};
  }
  // Changes with each roll.
  std::uint64_t file_number() const {
    struct stat status {};
    return stat(trace_path().c_str(), &status) == 0 ? status.st_ino : 0;
  }
  CollectRun run_;
};

// Blocks by address, 1 made and not released; what is neither is an error.
std::map<std::uint64_t, int> balance_of(const trace::Reader& reader) {
  std::map<std::uint64_t, int> balance;
  for (const trace::Thread& thread : reader.threads()) {
    const trace::EventBatch batch = events_of(reader, thread.index);
    for (std::size_t i = 0; i < batch.count(); ++i) {
      balance[batch.address[i]] += batch.kind[i] == trace::EventKind::malloc_ ? 1 : -1;
    }
  }
  return balance;
}

// most_others: of the blocks that come and go so many may live, in a program that was killed.
void expect_kept(const trace::Reader& reader, std::uint64_t count, std::uint64_t most_others = 0) {
  std::uint64_t living = 0;
  std::uint64_t others = 0;
  for (const auto& [address, balance] : balance_of(reader)) {
    const bool is_kept = address < 0x4000'0000;
    living += is_kept;
    others += !is_kept && balance != 0;
    EXPECT_TRUE(balance == 1 || (!is_kept && balance == 0)) << std::hex << address << " " << balance;
  }
  EXPECT_EQ(living, count);
  EXPECT_LE(others, most_others);
  std::map<std::uint32_t, std::uint64_t> next;
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    EXPECT_EQ(chunk.first_sequence, next[chunk.thread]);
    next[chunk.thread] += chunk.count;
  }
  for (const trace::Thread& thread : reader.threads()) EXPECT_EQ(thread.events, next[thread.index]);
}

TEST_F(Keeping, TheFileStaysBelowItAndTheFirstBlocksStayInIt) {
  const Outcome outcome = run_.run(options(), {fake_program, "churn", "5000", "150", "5000"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_LT(std::filesystem::file_size(trace_path()), room_bytes);
  EXPECT_FALSE(std::filesystem::exists(trace_path() + ".new"));
  const trace::Reader reader = trace::Reader::open(trace_path());
  EXPECT_TRUE(reader.damage().empty());
  EXPECT_EQ(reader.end().reason, trace::EndReason::exited);
  EXPECT_EQ(reader.end().events, reader.event_count());
  EXPECT_EQ(reader.end().dropped, 0U);
  EXPECT_EQ(reader.event_count() + reader.metadata().forgotten_events, 5000U + 150 * 10'000);
  EXPECT_GT(reader.metadata().forgotten_before_ns, 0U);
  EXPECT_LT(reader.metadata().forgotten_before_ns, reader.end().time_ns);
  EXPECT_LT(reader.threads().size(), 75U) << "threads that ended long ago are forgotten";
  expect_kept(reader, 5000);
}

TEST_F(Keeping, WhereEventsComeFasterThanTheyAreWrittenAnewTheProgramWaits) {
  const Outcome outcome = run_.run(options(), {fake_program, "churn", "5000", "150", "0"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  const trace::Reader reader = trace::Reader::open(trace_path());
  EXPECT_EQ(reader.end().reason, trace::EndReason::exited);
  EXPECT_EQ(reader.event_count() + reader.metadata().forgotten_events, 5000U + 150 * 10'000);
  expect_kept(reader, 5000);
}

TEST_F(Keeping, AnyoneWhoReadsMeanwhileSeesAWholeFile) {
  const pid_t collector = run_.start(options(), {fake_program, "churn", "5000", "1000000", "5000"});
  std::map<std::uint64_t, std::uint64_t> looks;  // by file
  const bool has_rolled = wait_until([&] {
    std::optional<trace::Reader> reader;
    const std::uint64_t number = file_number();
    if (number == 0) return false;
    try {
      reader.emplace(trace::Reader::open(trace_path()));
    } catch (const trace::TraceError&) {
      return false;  // not a byte of it is written
    }
    std::uint64_t first_blocks = 0;
    for (const trace::EventChunk& chunk : reader->event_chunks()) {
      trace::EventBatch batch;
      trace::DecodeScratch scratch;
      reader->decode(chunk, scratch, batch);
      for (std::size_t i = 0; i < batch.count(); ++i) first_blocks += batch.address[i] < 0x4000'0000;
    }
    if (reader->metadata().forgotten_before_ns != 0) {
      EXPECT_EQ(first_blocks, 5000U);
    }
    ++looks[number];
    return looks.size() > 3;
  });
  EXPECT_TRUE(has_rolled);
  kill(collector, SIGTERM);  // passed on to the program
  run_.wait(collector);
  expect_kept(trace::Reader::open(trace_path()), 5000, 101);
}

TEST_F(Keeping, AKilledCollectorLeavesAWholeFile) {
  const pid_t collector = run_.start(options(), {fake_program, "churn", "5000", "1000000", "5000"});
  const pid_t program = only_child_of(collector);
  const std::uint64_t first = (wait_until([&] { return file_number() != 0; }), file_number());
  EXPECT_TRUE(wait_until([&] { return file_number() != first; }));
  EXPECT_TRUE(wait_until([&] { return std::filesystem::exists(trace_path() + ".new"); })) << "in a roll";
  kill(collector, SIGKILL);
  run_.wait(collector);
  kill(program, SIGKILL);
  const trace::Reader reader = trace::Reader::open(trace_path());
  std::uint64_t first_blocks = 0;
  for (const auto& [address, balance] : balance_of(reader)) first_blocks += address < 0x4000'0000;
  EXPECT_EQ(first_blocks, 5000U);
}

// 1 MiB holds no half a million of blocks.
TEST_F(Keeping, WhereTooMuchLivesItEndsAndSaysSo) {
  const Outcome outcome = run_.run(options(), {fake_program, "churn", "500000", "2", "0"});
  EXPECT_NE(outcome.errors.find("live blocks fill the size that --room allows"), std::string::npos)
      << outcome.errors;
  // What the rings hold at that moment comes on top.
  EXPECT_LE(std::filesystem::file_size(trace_path()), room_bytes + room_bytes / 8);
  EXPECT_EQ(trace::Reader::open(trace_path()).end().reason, trace::EndReason::size_limit);
}

TEST_F(Keeping, OnlyTheLastImageOfAProcessIsKept) {
  const Outcome outcome =
      run_.run({"--output", "%p.heapwright", "--sample", "1", "--room", "1M"}, {fake_program, "exec", "50"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  ASSERT_EQ(run_.traces().size(), 1U);
  expect_numbered(trace::Reader::open(run_.traces()[0]), 0, 7);
}

}  // namespace
}  // namespace heapwright::collect::testing
