// SPDX-License-Identifier: MIT
// The same facts from a trace file as from memory.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "analyze/events_table.hpp"
#include "random_trace.hpp"
#include "trace/writer.hpp"

namespace heapwright::analyze {
namespace {

class FileTest : public testing::Test {
 protected:
  void TearDown() override { std::remove(path_.c_str()); }

  void write(const MemoryTrace& trace) {
    int error_number = 0;
    auto writer = trace::Writer::create(path_, true, error_number);
    ASSERT_TRUE(writer);
    writer->write(trace.metadata());
    writer->write(std::vector<trace::Frame>(trace.stacks));
    writer->write(std::vector<trace::StackNode>(trace.stacks - 1));
    const auto decoder = trace.make_decoder();
    trace::EventBatch batch;
    std::uint64_t events = 0;
    for (const auto& chunk : trace.event_chunks()) {
      decoder->decode(chunk, batch);
      ASSERT_TRUE(writer->write_events(chunk.thread, chunk.first_sequence, batch));
      events += chunk.count;
    }
    trace::End end;
    end.reason = trace::EndReason::exited;
    end.events = events;
    ASSERT_TRUE(writer->finish(end));
  }

  const std::string path_ =
      testing::TempDir() + "analyze_file_test_" + std::to_string(::getpid()) + ".heapwright";
};

TEST_F(FileTest, FactsAreThoseOfTheCalls) {
  RandomTrace random(5, 3, 20000);
  write(random.trace);
  const auto reader = trace::Reader::open(path_);
  const auto facts = analyze(reader, {});
  const auto expected = analyze(random.trace, {}, {});
  EXPECT_EQ(facts.totals.events, expected.totals.events);
  EXPECT_EQ(facts.totals.requested_bytes, expected.totals.requested_bytes);
  EXPECT_EQ(facts.totals.unknown_releases, expected.totals.unknown_releases);
  EXPECT_EQ(facts.peak.live_bytes, expected.peak.live_bytes);
  EXPECT_EQ(facts.peak.time_ns, expected.peak.time_ns);
  EXPECT_EQ(facts.temporaries, expected.temporaries);
  EXPECT_EQ(facts.lifetimes.blocks, expected.lifetimes.blocks);
  // It hands out addresses that are live, and nothing else of it is odd.
  ASSERT_NE(expected.totals.reused_live_addresses, 0U);
  EXPECT_EQ(facts.completeness.reasons, expected.completeness.reasons);
  EXPECT_EQ(facts.completeness.reasons.size(), 1U);
  EXPECT_GT(facts.recorder.file_bytes, 0U);
}

TEST_F(FileTest, TablesReadTheFile) {
  RandomTrace random(6, 2, 5000);
  write(random.trace);
  const auto reader = trace::Reader::open(path_);
  EventTable events(reader);
  EventColumns event_columns;
  std::uint64_t event_rows = 0;
  while (events.next(event_columns)) {
    event_rows += event_columns.count();
  }
  EXPECT_EQ(event_rows, reader.event_count());
  BlockTable blocks(reader);
  BlockColumns block_columns;
  std::uint64_t block_rows = 0;
  while (blocks.next(block_columns)) {
    block_rows += block_columns.count();
  }
  EXPECT_EQ(block_rows, analyze(reader, {}).totals.allocations);
}

}  // namespace
}  // namespace heapwright::analyze
