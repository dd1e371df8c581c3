// SPDX-License-Identifier: MIT
#include "trace/writer.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "made_trace.hpp"

namespace heapwright::trace::test {

TEST(Writer, KeepsAnExistingFileUnlessToldToReplace) {
  const TemporaryFile file("existing");
  put_content(file.path(), {'m', 'i', 'n', 'e'});
  int error = 0;
  EXPECT_EQ(Writer::create(file.path(), false, error), nullptr);
  EXPECT_EQ(error, EEXIST);
  EXPECT_EQ(content_of(file.path()).size(), 4U);
  const auto writer = Writer::create(file.path(), true, error);
  ASSERT_TRUE(writer);
  EXPECT_TRUE(writer->finish({EndReason::exited}));
  EXPECT_EQ(Reader::open(file.path()).end().reason, EndReason::exited);
}

TEST(Writer, MakesFilesThatOnlyTheOwnerReads) {
  const TemporaryFile file("mode");
  int error = 0;
  const auto writer = Writer::create(file.path(), false, error);
  struct stat status {};
  ASSERT_EQ(stat(file.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(Writer, SaysWhyAFileCannotBeMade) {
  int error = 0;
  EXPECT_EQ(Writer::create("/no/such/folder/trace", false, error), nullptr);
  EXPECT_EQ(error, ENOENT);
  EXPECT_EQ(Writer::create("/dev/full", true, error), nullptr);
  EXPECT_EQ(error, EEXIST) << "only regular files are replaced";
}

TEST(Writer, RefusesBatchesThatNoReaderWouldTake) {
  const TemporaryFile file("refused");
  int error = 0;
  auto writer = Writer::create(file.path(), false, error);
  EventBatch uneven;
  uneven.resize(3);
  uneven.size.pop_back();
  EXPECT_FALSE(writer->write_events(0, 0, uneven));
  EXPECT_EQ(writer->error_number(), EINVAL);
  EventBatch too_long;
  too_long.resize(max_events_per_chunk + 1);
  writer = Writer::create(file.path(), true, error);
  EXPECT_FALSE(writer->write_events(0, 0, too_long));
}

// The disk is full for the writer once the file reaches the limit.
TEST(Writer, FullDiskLeavesWholeChunksAndSaysSo) {
  const TemporaryFile file("full");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{20'000, 20'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    int error = 0;
    const auto writer = Writer::create(file.path(), false, error);
    bool is_good = write_stacks(*writer, 400);
    ProgramThread program(1);
    std::uint64_t sequence = 0;
    while (is_good && sequence < 1'000'000) {
      is_good = writer->write_events(0, sequence, program.run(1000));
      sequence += 1000;
    }
    const bool stays_failed =
        !writer->write_events(0, sequence, program.run(10)) && !writer->finish({EndReason::exited});
    _exit(!is_good && stays_failed && writer->error_number() == EFBIG ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  const Reader reader = Reader::open(file.path());
  EXPECT_GT(reader.event_count(), 0U);
  EXPECT_EQ(reader.end().reason, EndReason::write_failed);
  EXPECT_EQ(reader.end().status, EFBIG);
  EXPECT_TRUE(reader.damage().empty());
  EXPECT_LE(reader.file_bytes(), 20'000U);
  ProgramThread program(1);
  DecodeScratch scratch;
  EventBatch batch;
  for (const EventChunk& chunk : reader.event_chunks()) {
    reader.decode(chunk, scratch, batch);
    expect_equal(batch, as_decoded(program.run(1000)));
  }
}

}  // namespace heapwright::trace::test
