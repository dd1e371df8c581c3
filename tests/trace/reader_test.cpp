// SPDX-License-Identifier: MIT
#include "trace/reader.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "made_trace.hpp"

namespace heapwright::trace::test {

TEST(Reader, ChunksAreInOrderOfThreadAndSequence) {
  const TemporaryFile file("order");
  int error = 0;
  const auto writer = Writer::create(file.path(), false, error);
  ProgramThread programs[] = {ProgramThread(0, 2), ProgramThread(1, 2), ProgramThread(2, 2)};
  ASSERT_TRUE(write_stacks(*writer, 2));
  for (std::uint64_t round = 0; round < 4; ++round) {
    for (const std::uint32_t thread : {2U, 0U, 1U}) {
      ASSERT_TRUE(writer->write_events(thread, round * 20, programs[thread].run(20)));
    }
  }
  ASSERT_TRUE(writer->finish({EndReason::exited}));
  const Reader reader = Reader::open(file.path());
  ASSERT_EQ(reader.event_chunks().size(), 12U);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(reader.event_chunks()[i].thread, i / 4);
    EXPECT_EQ(reader.event_chunks()[i].first_sequence, i % 4 * 20);
  }
  EXPECT_EQ(reader.threads().size(), 3U) << "threads without a record have a place all the same";
  EXPECT_EQ(reader.event_count(), 240U);
}

TEST(Reader, ReadsWhatAWriterHasWrittenSoFar) {
  const TemporaryFile file("unfinished");
  int error = 0;
  const auto writer = Writer::create(file.path(), false, error);
  ASSERT_TRUE(write_stacks(*writer, 10));
  ProgramThread program(3, 10);
  ASSERT_TRUE(writer->write_events(0, 0, program.run(500)));
  const Reader reader = Reader::open(file.path());
  EXPECT_EQ(reader.event_count(), 500U);
  EXPECT_EQ(reader.end().reason, EndReason::still_running);
  EXPECT_TRUE(reader.damage().empty());
}

TEST(Reader, ThreadsDecodeAtTheSameTime) {
  const TemporaryFile file("parallel");
  int error = 0;
  const auto writer = Writer::create(file.path(), false, error);
  ASSERT_TRUE(write_stacks(*writer, 400));
  ProgramThread program(5);
  std::vector<EventBatch> batches;
  for (std::size_t i = 0; i < 24; ++i) {
    batches.push_back(program.run(2000));
    ASSERT_TRUE(writer->write_events(0, i * 2000, batches.back()));
  }
  ASSERT_TRUE(writer->finish({EndReason::exited}));
  const Reader reader = Reader::open(file.path());
  std::vector<EventBatch> decoded(batches.size());
  std::vector<std::thread> threads;
  for (std::size_t first = 0; first < 4; ++first) {
    threads.emplace_back([&, first] {
      DecodeScratch scratch;
      for (std::size_t i = first; i < decoded.size(); i += 4) {
        reader.decode(reader.event_chunks()[i], scratch, decoded[i]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < batches.size(); ++i) expect_equal(decoded[i], as_decoded(batches[i]));
}

TEST(Reader, StackThatIsNotInTheTraceIsAnError) {
  const TemporaryFile file("stack");
  int error = 0;
  const auto writer = Writer::create(file.path(), false, error);
  ASSERT_TRUE(write_stacks(*writer, 3));
  EventBatch batch;
  append(batch, {EventKind::malloc_, 16, 8, 24, 4096, 0, 8, 4, 0});
  ASSERT_TRUE(writer->write_events(0, 0, batch));
  ASSERT_TRUE(writer->finish({EndReason::exited}));
  const Reader reader = Reader::open(file.path());
  DecodeScratch scratch;
  EXPECT_THROW(reader.decode(reader.event_chunks()[0], scratch, batch), TraceError);
}

// The documented figure (docs/trace-format.md) for programs that behave.
TEST(Reader, ProgramTakesLittleRoomPerEvent) {
  constexpr double max_bytes_per_event = 3.0;
  const TemporaryFile file("size");
  int error = 0;
  const auto writer = Writer::create(file.path(), false, error);
  ASSERT_TRUE(write_stacks(*writer, 400));
  ProgramThread program(6);
  for (std::size_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(writer->write_events(0, i * max_events_per_chunk, program.run(max_events_per_chunk)));
  }
  ASSERT_TRUE(writer->finish({EndReason::exited}));
  const auto bytes = static_cast<double>(writer->bytes_written());
  EXPECT_LT(bytes / (8.0 * max_events_per_chunk), max_bytes_per_event);
}

TEST(Reader, ChunkOfFewEventsIsSmall) {
  const TemporaryFile file("few");
  int error = 0;
  const auto writer = Writer::create(file.path(), false, error);
  ProgramThread program(6, 2);
  ASSERT_TRUE(write_stacks(*writer, 2));
  const std::uint64_t before = writer->bytes_written();
  ASSERT_TRUE(writer->write_events(0, 0, program.run(5)));
  EXPECT_LT(writer->bytes_written() - before, 200U);
}

}  // namespace heapwright::trace::test
