// SPDX-License-Identifier: MIT
// Traces of tests/traces/ are read for ever: what a released heapwright wrote
// must open and say the same.
#include <gtest/gtest.h>

#include <string>

#include "made_trace.hpp"

namespace heapwright::trace::test {

// Written by make_trace_fixture with 2 chunks of 1,500 events per thread.
TEST(Fixture, Version1MadeTraceReadsAsWritten) {
  const Reader reader =
      Reader::open(std::string(HEAPWRIGHT_SOURCE) + "/tests/traces/version-1-made.heapwright");
  EXPECT_TRUE(reader.damage().empty());
  EXPECT_EQ(reader.metadata().program, "/usr/bin/made");
  EXPECT_EQ(reader.metadata().notes, (std::vector<std::string>{"a note", "another"}));
  EXPECT_EQ(reader.modules().size(), 2U);
  EXPECT_EQ(reader.frames().size(), 50U);
  EXPECT_EQ(reader.stacks().size(), 51U);
  EXPECT_EQ(reader.memory_samples().size(), 2U);
  EXPECT_EQ(reader.end().reason, EndReason::exited);
  ASSERT_EQ(reader.event_chunks().size(), 6U);
  DecodeScratch scratch;
  EventBatch batch;
  for (std::size_t i = 0; i < 6;) {
    ProgramThread program(i / 2, 50);
    for (std::size_t chunk = 0; chunk < 2; ++chunk, ++i) {
      reader.decode(reader.event_chunks()[i], scratch, batch);
      expect_equal(batch, as_decoded(program.run(1500)));
    }
  }
}

}  // namespace heapwright::trace::test
