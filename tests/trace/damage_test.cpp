// SPDX-License-Identifier: MIT
// Files that were cut, damaged or are no traces at all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "made_trace.hpp"
#include "trace/format.hpp"

namespace heapwright::trace::test {

namespace {

struct Content {
  std::vector<EventBatch> batches;  // of the chunks that decode
  std::size_t unreadable = 0;
  std::size_t damage = 0;
  std::vector<EventChunk> chunks;
  EndReason end = EndReason::missing;
};

Content read_all(const std::string& path) {
  static DecodeScratch scratch;
  Content content;
  const Reader reader = Reader::open(path);
  for (const EventChunk& chunk : reader.event_chunks()) {
    EventBatch batch;
    try {
      reader.decode(chunk, scratch, batch);
    } catch (const TraceError&) {
      ++content.unreadable;
      continue;
    }
    EXPECT_EQ(batch.count(), chunk.count);
    EXPECT_LT(chunk.thread, reader.threads().size());
    for (const std::uint32_t stack : batch.stack) EXPECT_LT(stack, reader.stacks().size());
    content.batches.push_back(std::move(batch));
    content.chunks.push_back(chunk);
  }
  // A flipped byte in a chunk's content is seen without decoding it.
  EXPECT_EQ(reader.damaged_event_chunks(), content.unreadable);
  content.damage = reader.damage().size();
  content.end = reader.end().reason;
  return content;
}

std::optional<Content> try_read_all(const std::string& path) {
  try {
    return read_all(path);
  } catch (const TraceError&) {
    return std::nullopt;
  }
}

bool is_same(const EventBatch& a, const EventBatch& b) {
  return a.kind == b.kind && a.begin_ns == b.begin_ns && a.duration_ns == b.duration_ns &&
         a.stack == b.stack && a.size == b.size && a.usable == b.usable && a.address == b.address &&
         a.old_address == b.old_address && a.alignment_log2 == b.alignment_log2;
}

void flip_byte(const std::string& path, std::size_t at) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(at));
  const auto flipped = static_cast<char>(~file.get());
  file.seekp(static_cast<std::streamoff>(at));
  file.put(flipped);
}

// Each batch of `part` is one of `whole`.
void expect_part_of(const Content& part, const Content& whole) {
  for (const EventBatch& batch : part.batches) {
    const bool is_there = std::any_of(whole.batches.begin(), whole.batches.end(),
                                      [&](const EventBatch& other) { return is_same(batch, other); });
    EXPECT_TRUE(is_there);
  }
}

std::string message_of(const std::string& path) {
  try {
    Reader::open(path);
  } catch (const TraceError& error) {
    return error.what();
  }
  return "opened";
}

// A file header with one field changed and a right checksum.
template <typename Change>
std::string message_for_header(Change change) {
  const TemporaryFile file("header");
  write_small_trace(file.path(), 1, 5);
  std::vector<char> content = content_of(file.path());
  FileHeader header;
  std::memcpy(&header, content.data(), sizeof header);
  change(header);
  header.crc = crc_of(header);
  std::memcpy(content.data(), &header, sizeof header);
  put_content(file.path(), content);
  return message_of(file.path());
}

}  // namespace

TEST(Damage, FileCutAtAnyByteOpensUpToTheCut) {
  const TemporaryFile file("cut");
  write_small_trace(file.path(), 2, 8);
  const Content whole = read_all(file.path());
  ASSERT_EQ(whole.damage, 0U);
  for (std::size_t bytes = std::filesystem::file_size(file.path()); bytes-- > 0;) {
    std::filesystem::resize_file(file.path(), bytes);
    if (bytes < sizeof(FileHeader)) {
      EXPECT_NE(message_of(file.path()), "opened");
      continue;
    }
    const Content part = read_all(file.path());
    EXPECT_EQ(part.unreadable, 0U) << bytes;
    expect_part_of(part, whole);
    const auto expected =
        std::count_if(whole.chunks.begin(), whole.chunks.end(),
                      [&](const EventChunk& chunk) { return chunk.file_offset + chunk.bytes <= bytes; });
    EXPECT_EQ(part.batches.size(), static_cast<std::size_t>(expected)) << bytes;
    EXPECT_EQ(part.damage > 0, part.end == EndReason::missing)
        << "a lost end is reported, a lost index is no loss";
  }
}

TEST(Damage, AnyFlippedByteIsHarmlessOrReported) {
  const TemporaryFile file("flip");
  write_small_trace(file.path(), 2, 8);
  const std::size_t bytes = std::filesystem::file_size(file.path());
  const Content whole = read_all(file.path());
  for (std::size_t at = 0; at < bytes; ++at) {
    flip_byte(file.path(), at);
    const std::optional<Content> part = try_read_all(file.path());
    flip_byte(file.path(), at);
    if (!part) continue;
    expect_part_of(*part, whole);
    const bool is_whole = part->batches.size() == whole.batches.size() && part->end == whole.end;
    EXPECT_TRUE(is_whole || part->damage + part->unreadable > 0) << at;
  }
}

TEST(Damage, BadTableKeepsTheIdsBehindIt) {
  const TemporaryFile file("table");
  int error = 0;
  const auto writer = Writer::create(file.path(), false, error);
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t pc : {1000U, 2000U, 3000U}) {
    offsets.push_back(writer->bytes_written());
    const Frame frame{pc, Frame::no_module, false};
    ASSERT_TRUE(writer->write(std::span(&frame, 1)));
  }
  ASSERT_TRUE(writer->finish({EndReason::exited}));
  std::vector<char> content = content_of(file.path());
  content[offsets[1] + sizeof(ChunkHeader) + 2] ^= 1;
  put_content(file.path(), content);
  const Reader reader = Reader::open(file.path());
  ASSERT_EQ(reader.damage().size(), 1U);
  EXPECT_EQ(reader.damage()[0].file_offset, offsets[1]);
  ASSERT_EQ(reader.frames().size(), 3U);
  EXPECT_EQ(reader.frames()[0].pc, 1000U);
  EXPECT_EQ(reader.frames()[1].pc, 0U);
  EXPECT_EQ(reader.frames()[2].pc, 3000U);
}

TEST(Damage, HugeThreadNumberInTinyFileIsRefused) {
  const TemporaryFile file("huge");
  int error = 0;
  const auto writer = Writer::create(file.path(), false, error);
  Thread thread;
  thread.index = 10'000'000;
  ASSERT_TRUE(writer->write(std::span(&thread, 1)));
  EventBatch batch;
  append(batch, {EventKind::malloc_, 16, 8, 24, 4096});
  ASSERT_TRUE(writer->write_events(10'000'001, 0, batch));
  ASSERT_TRUE(writer->finish({EndReason::exited}));
  const Reader reader = Reader::open(file.path());
  EXPECT_EQ(reader.damage().size(), 2U);
  EXPECT_TRUE(reader.threads().empty());
  EXPECT_TRUE(reader.event_chunks().empty());
}

TEST(Damage, UnknownChunkKindIsSkipped) {
  const TemporaryFile file("unknown");
  write_small_trace(file.path(), 1, 5);
  std::vector<char> content = content_of(file.path());
  ChunkHeader header;
  header.kind = 999;
  header.payload_bytes = 3;
  header.payload_crc = base::crc32c("abc", 3);
  header.header_crc = crc_of(header);
  std::vector<char> chunk(sizeof header + 3, 'x');
  std::memcpy(chunk.data(), &header, sizeof header);
  std::memcpy(chunk.data() + sizeof header, "abc", 3);
  content.insert(content.begin() + sizeof(FileHeader), chunk.begin(), chunk.end());
  put_content(file.path(), content);
  const Content result = read_all(file.path());
  EXPECT_EQ(result.batches.size(), 3U);
  EXPECT_EQ(result.damage, 0U);
}

TEST(Damage, GarbageBetweenChunksIsReportedAndSkipped) {
  const TemporaryFile file("garbage");
  write_small_trace(file.path(), 1, 5);
  std::vector<char> content = content_of(file.path());
  content.insert(content.begin() + sizeof(FileHeader), 3'000'000, 'H');
  put_content(file.path(), content);
  const Content result = read_all(file.path());
  EXPECT_EQ(result.batches.size(), 3U);
  EXPECT_EQ(result.damage, 1U);
}

TEST(Refusal, SaysWhatTheFileIsAndWhatToDo) {
  const TemporaryFile file("refused");
  EXPECT_NE(message_of(file.path()).find("No such file"), std::string::npos);
  put_content(file.path(), {});
  EXPECT_NE(message_of(file.path()).find("is empty"), std::string::npos);
  put_content(file.path(), std::vector<char>(1000, 'a'));
  EXPECT_NE(message_of(file.path()).find("is not a heapwright trace; make one with"), std::string::npos);
  EXPECT_NE(message_of("/tmp").find("is not a regular file"), std::string::npos);
  EXPECT_NE(message_of("/dev/zero").find("is not a regular file"), std::string::npos);
}

TEST(Refusal, OtherVersionOrByteOrderSaysWhatToDo) {
  EXPECT_NE(message_for_header([](FileHeader& header) { header.version = 2; }).find("as new as the recorder"),
            std::string::npos);
  EXPECT_NE(message_for_header([](FileHeader& header) { header.byte_order = 0x04030201; }).find("byte order"),
            std::string::npos);
  EXPECT_NE(message_for_header([](FileHeader& header) { header.time_quantum_ns = 1; }).find("damaged"),
            std::string::npos);
  EXPECT_EQ(message_for_header([](FileHeader&) {}), "opened");
}

}  // namespace heapwright::trace::test
