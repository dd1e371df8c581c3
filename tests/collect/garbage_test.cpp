// SPDX-License-Identifier: MIT
// A program that scribbles over the session while it is being drained.
#include <gtest/gtest.h>

#include "collect_run.hpp"

namespace heapwright::collect::testing {
namespace {

class Garbage : public ::testing::TestWithParam<int> {};

TEST_P(Garbage, NeitherStopsTheCollectorNorSpoilsTheFile) {
  CollectRun run;
  const Outcome outcome =
      run.run({"--max-size", "64M"}, {fake_program, "garbage", std::to_string(GetParam()), "150"});
  EXPECT_EQ(outcome.exit_code, 9) << outcome.errors;
  for (const std::string& path : run.traces()) {
    const trace::Reader reader = trace::Reader::open(path);
    EXPECT_TRUE(reader.damage().empty()) << reader.damage().front().what;
    EXPECT_NE(reader.end().reason, trace::EndReason::missing);
    std::uint64_t events = 0;
    trace::EventBatch batch;
    trace::DecodeScratch scratch;
    for (const trace::EventChunk& chunk : reader.event_chunks()) {
      reader.decode(chunk, scratch, batch);
      events += batch.count();
    }
    EXPECT_EQ(events, reader.event_count());
    EXPECT_EQ(events, reader.end().events);
  }
  EXPECT_FALSE(run.traces().empty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, Garbage, ::testing::Range(1, 9));

}  // namespace
}  // namespace heapwright::collect::testing
