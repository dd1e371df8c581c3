// SPDX-License-Identifier: MIT
// A file that its collector still writes, cut wherever it may be just then.
#include "trace/running_trace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>

#include "made_trace.hpp"
#include "trace/format.hpp"
#include "trace/writer.hpp"

namespace heapwright::trace::test {
namespace {

std::uint64_t events_of(const Reader& reader) {
  std::uint64_t events = 0;
  for (const EventChunk& chunk : reader.event_chunks()) events += chunk.count;
  return events;
}

// What a dump writes.
void take(const std::string& path, const std::string& copy) {
  const RunningTrace running = end_running(path);
  std::vector<char> content = content_of(path);
  ASSERT_LE(running.whole_bytes, content.size());
  content.resize(static_cast<std::size_t>(running.whole_bytes));
  content.insert(content.end(), running.end_chunk.begin(), running.end_chunk.end());
  put_content(copy, content);
}

TEST(RunningTrace, ACopyTakenAtAnyByteIsWhole) {
  const TemporaryFile file("running");
  const TemporaryFile copy("taken");
  write_small_trace(file.path(), 2, 8);
  for (std::size_t bytes = std::filesystem::file_size(file.path()); bytes > sizeof(FileHeader); bytes -= 5) {
    std::filesystem::resize_file(file.path(), bytes);
    const Reader cut = Reader::open(file.path());
    take(file.path(), copy.path());
    const Reader taken = Reader::open(copy.path());
    EXPECT_TRUE(taken.damage().empty()) << bytes;
    if (cut.end().reason != EndReason::missing) {
      EXPECT_EQ(taken.end().reason, EndReason::exited) << "its own end mark counts";
      continue;
    }
    ASSERT_EQ(taken.end().reason, EndReason::still_running) << bytes;
    EXPECT_EQ(taken.end().events, events_of(cut));
    EXPECT_EQ(events_of(taken), events_of(cut));
    std::uint64_t of_threads = 0;
    for (const Thread& thread : taken.threads()) of_threads += thread.events;
    EXPECT_EQ(of_threads, events_of(taken)) << bytes;
    std::uint64_t last_ns = 0;
    for (const EventChunk& chunk : cut.event_chunks()) last_ns = std::max(last_ns, chunk.last_end_ns);
    for (const MemorySample& sample : cut.memory_samples()) last_ns = std::max(last_ns, sample.time_ns);
    EXPECT_EQ(taken.end().time_ns, last_ns) << bytes;
  }
}

// Only its writer knows; that a file is cut shows when nothing writes it any more.
TEST(RunningTrace, AFileThatIsBeingWrittenIsNotDamaged) {
  const TemporaryFile file("written");
  TemporaryFile other("other");
  write_small_trace(other.path(), 2, 8);
  int error = 0;
  std::unique_ptr<Writer> writer = Writer::create(file.path(), true, error);
  ASSERT_NE(writer, nullptr);
  writer->write(Metadata{.program = "/bin/server"});
  std::vector<char> content = content_of(file.path());
  const std::vector<char> more = content_of(other.path());
  content.insert(content.end(), more.begin() + sizeof(FileHeader), more.begin() + sizeof(FileHeader) + 30);
  std::ofstream(file.path(), std::ios::in | std::ios::binary)
      .write(content.data(), static_cast<std::streamsize>(content.size()));
  const Reader written = Reader::open(file.path());
  EXPECT_EQ(written.end().reason, EndReason::still_running);
  EXPECT_TRUE(written.damage().empty());
  writer.reset();
  const Reader left = Reader::open(file.path());
  EXPECT_EQ(left.end().reason, EndReason::missing);
  EXPECT_FALSE(left.damage().empty());
}

TEST(RunningTrace, ItsTimeIsThatOfTheLastLookAtTheMemory) {
  const TemporaryFile file("running");
  const TemporaryFile copy("taken");
  int error_number = 0;
  const auto writer = Writer::create(file.path(), true, error_number);
  ASSERT_NE(writer, nullptr);
  const MemorySample sample{.time_ns = 5'000'000'000, .resident_anonymous_bytes = 1, .recorder_bytes = 77};
  ASSERT_TRUE(writer->write(std::span(&sample, 1)));
  take(file.path(), copy.path());
  const Reader taken = Reader::open(copy.path());
  EXPECT_EQ(taken.end().time_ns, sample.time_ns);
  EXPECT_EQ(taken.end().recorder_peak_bytes, 77U);
}

TEST(RunningTrace, WhatIsDamagedBeforeItsEndIsStillTold) {
  const TemporaryFile file("running");
  const TemporaryFile copy("taken");
  write_small_trace(file.path(), 2, 8);
  const Reader whole = Reader::open(file.path());
  const EventChunk first = whole.event_chunks().front();
  std::vector<char> content = content_of(file.path());
  content[first.file_offset + 2] ^= 1;
  content.resize(static_cast<std::size_t>(whole.event_chunks().back().file_offset));
  put_content(file.path(), content);
  take(file.path(), copy.path());
  EXPECT_FALSE(Reader::open(copy.path()).damage().empty());
}

TEST(RunningTrace, NothingWrittenYetIsNoTrace) {
  const TemporaryFile file("running");
  put_content(file.path(), {});
  EXPECT_THROW(end_running(file.path()), TraceError);
}

}  // namespace
}  // namespace heapwright::trace::test
