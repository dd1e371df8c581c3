// SPDX-License-Identifier: MIT
// Traces of tests/traces/ are read for ever: what a released heapwright wrote
// must open and say the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
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

namespace {

// The most bytes that were live at once; the events are one thread's.
std::uint64_t peak_bytes(const EventBatch& events) {
  std::map<std::uint64_t, std::uint64_t> live;
  std::uint64_t bytes = 0;
  std::uint64_t peak = 0;
  for (std::size_t i = 0; i < events.count(); ++i) {
    const std::uint64_t released = is_realloc(events.kind[i]) ? events.old_address[i] : events.address[i];
    if (is_realloc(events.kind[i]) || is_release(events.kind[i])) {
      bytes -= live[released];
      live.erase(released);
    }
    if (!is_allocation(events.kind[i])) continue;
    live[events.address[i]] = events.size[i];
    bytes += events.size[i];
    peak = std::max(peak, bytes);
  }
  return peak;
}

}  // namespace

// Recorded with --free-stacks from Debian 12's sqlite3:
//   create table t(name text, amount int);
//   insert into t select 'name ' || value, value from generate_series(1, 200);
//   select count(*), sum(amount) from t where name like '%9%';
// heaptrack counted 784 allocations of the same script, reallocs among them.
TEST(Fixture, Version1RecordedTraceReadsAsRecorded) {
  const Reader reader =
      Reader::open(std::string(HEAPWRIGHT_SOURCE) + "/tests/traces/version-1-sqlite3.heapwright");
  EXPECT_TRUE(reader.damage().empty());
  EXPECT_EQ(reader.metadata().program, "/usr/bin/sqlite3");
  EXPECT_EQ(reader.metadata().host, "example");
  EXPECT_EQ(reader.metadata().allocator, "glibc 2.36 (/lib/x86_64-linux-gnu/libc.so.6)");
  EXPECT_TRUE(reader.metadata().free_stacks_recorded);
  EXPECT_EQ(reader.end().reason, EndReason::exited);
  EXPECT_EQ(reader.end().events, 1536U);
  ASSERT_EQ(reader.threads().size(), 1U);
  ASSERT_EQ(reader.modules().size(), 3U);
  EXPECT_EQ(reader.modules()[2].path, "/lib/x86_64-linux-gnu/libsqlite3.so.0");
  EXPECT_EQ(reader.modules()[2].build_id, "5221b80bd99650e3e55370b0e24f4b4dbe81264f");
  ASSERT_EQ(reader.event_chunks().size(), 1U);
  DecodeScratch scratch;
  EventBatch events;
  reader.decode(reader.event_chunks()[0], scratch, events);
  std::map<EventKind, int> counts;
  for (const EventKind kind : events.kind) ++counts[kind];
  EXPECT_EQ(counts, (std::map<EventKind, int>{
                        {EventKind::malloc_, 762}, {EventKind::realloc_, 22}, {EventKind::free_, 752}}));
  EXPECT_EQ(peak_bytes(events), 53'815U);
  for (const std::uint32_t stack : events.stack) ASSERT_LT(reader.stacks().at(stack).parent, stack);
}

}  // namespace heapwright::trace::test
