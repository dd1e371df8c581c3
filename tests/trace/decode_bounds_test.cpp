// SPDX-License-Identifier: MIT
// Payloads and tables made by hand that go one beyond what is allowed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "made_trace.hpp"
#include "trace/decode_events.hpp"
#include "trace/format.hpp"

namespace heapwright::trace::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

void append_varint(Bytes& out, std::uint64_t value) {
  std::uint8_t bytes[base::max_varint_bytes];
  out.insert(out.end(), bytes, base::put_varint(bytes, value));
}

struct HandMade {
  ColumnId id;
  Bytes bytes;
};

// The columns as they are, each in a raw block.
Bytes payload_of(const std::vector<HandMade>& columns) {
  Bytes payload{static_cast<std::uint8_t>(columns.size())};
  for (const HandMade& column : columns) {
    payload.push_back(static_cast<std::uint8_t>(column.id));
    payload.push_back(static_cast<std::uint8_t>(BlockEncoding::raw));
    append_varint(payload, column.bytes.size());
    payload.insert(payload.end(), column.bytes.begin(), column.bytes.end());
  }
  return payload;
}

// What the decoder refuses the payload for; "decoded" when it does not.
std::string refusal_of(const std::vector<HandMade>& columns, std::size_t count, std::size_t stacks = 8) {
  EventDecoder decoder;
  EventBatch batch;
  try {
    decoder.decode(payload_of(columns), count, 0, stacks, batch);
  } catch (const TraceError& error) {
    return error.what();
  }
  return "decoded";
}

constexpr auto malloc_kind = static_cast<std::uint8_t>(EventKind::malloc_);
constexpr auto free_kind = static_cast<std::uint8_t>(EventKind::free_);

Bytes varint(std::uint64_t value) {
  Bytes bytes;
  append_varint(bytes, value);
  return bytes;
}

TEST(DecodeBounds, WhatIsAllowedDecodes) {
  EXPECT_EQ(refusal_of({{ColumnId::kind, {malloc_kind, free_kind}}, {ColumnId::made_address, {10}}}, 2),
            "decoded");
  EXPECT_EQ(refusal_of({{ColumnId::kind, {malloc_kind, free_kind}},
                        {ColumnId::made_address, {10}},
                        {ColumnId::reference, {reference_code::first_near + 1}}},
                       2),
            "decoded")
      << "one event before";
}

TEST(DecodeBounds, NoEventsNeedNoMemory) {  // which UBSan sees
  EXPECT_EQ(refusal_of({}, 0), "decoded");
}

TEST(DecodeBounds, TheKernelsWorkIsOfACallThatIsThere) {
  const auto refusal = [](const Bytes& kernel) {
    return refusal_of({{ColumnId::kind, {free_kind, free_kind}},
                       {ColumnId::reference, {reference_code::null, reference_code::null}},
                       {ColumnId::kernel, kernel}},
                      2);
  };
  EXPECT_EQ(refusal({1, 1, 3, 9}), "decoded");
  EXPECT_EQ(refusal({0, 1, 3, 9, 0, 1, 3, 9}), "decoded");
  EXPECT_EQ(refusal({2, 1, 3, 9}), "the kernel's work names a call that does not exist");
  EXPECT_EQ(refusal({0, 1, 3, 9, 1, 1, 3, 9}), "the kernel's work names a call that does not exist");
  EXPECT_EQ(refusal({0, 1, 3}), "the kernel's work in a call is incomplete");
  EXPECT_EQ(refusal({0, 32}), "the kernel's work in a call is incomplete") << "a part that nobody knows";
  Bytes long_fault{0, 1, 3};
  append_varint(long_fault, (1ULL << 40U) + 1);
  EXPECT_EQ(refusal(long_fault), "the kernel's work in a call is impossible");
}

TEST(DecodeBounds, AnEventCannotReferToItself) {
  EXPECT_EQ(refusal_of({{ColumnId::kind, {malloc_kind, free_kind}},
                        {ColumnId::made_address, {10}},
                        {ColumnId::reference, {reference_code::first_near}}},
                       2),
            "an event refers to a block that does not exist");
}

TEST(DecodeBounds, NothingIsReusedFromAnEmptyList) {
  EXPECT_EQ(refusal_of({{ColumnId::kind, {malloc_kind}}}, 1), "an event reuses a block that does not exist");
}

TEST(DecodeBounds, KindsEndWithTheLast) {
  const auto beyond = static_cast<std::uint8_t>(event_kind_limit);
  EXPECT_EQ(refusal_of({{ColumnId::kind, {beyond}}, {ColumnId::made_address, {10}}}, 1),
            "an event has an unknown kind; read the trace with a newer heapwright");
}

TEST(DecodeBounds, AColumnOfCodesHasOneForEachEvent) {
  for (const std::size_t length : {std::size_t{1}, std::size_t{3}}) {
    EXPECT_EQ(refusal_of({{ColumnId::kind, Bytes(length, free_kind)}}, 2), "a column has the wrong length")
        << length;
  }
}

TEST(DecodeBounds, AColumnComesOnce) {
  EXPECT_EQ(refusal_of({{ColumnId::kind, {free_kind}}, {ColumnId::kind, {free_kind}}}, 1),
            "a column occurs twice");
}

TEST(DecodeBounds, ADurationFitsItsFourBytes) {
  const auto refusal = [](std::uint64_t beyond) {
    return refusal_of({{ColumnId::kind, {free_kind}},
                       {ColumnId::duration, {255}},
                       {ColumnId::duration_wide, varint(beyond)},
                       {ColumnId::reference, {reference_code::null}}},
                      1);
  };
  constexpr std::uint64_t longest = UINT32_MAX / duration_quantum_ns - 255;
  EXPECT_EQ(refusal(longest), "decoded");
  EXPECT_EQ(refusal(longest + 1), "a duration is impossible");
}

TEST(DecodeBounds, BeginTimesDoNotWrapAround) {
  const auto refusal = [](std::uint64_t beyond) {
    return refusal_of({{ColumnId::kind, {free_kind}},
                       {ColumnId::begin, {255}},
                       {ColumnId::begin_wide, varint(beyond)},
                       {ColumnId::reference, {reference_code::null}}},
                      1);
  };
  constexpr std::uint64_t latest = max_time_ns / time_quantum_ns - 255;
  EXPECT_EQ(refusal(latest), "decoded");
  EXPECT_EQ(refusal(latest + 1), "a begin time is impossible");
  EXPECT_EQ(refusal(UINT64_MAX - 100), "a begin time is impossible") << "the sum itself wraps";
}

TEST(DecodeBounds, AWideColumnHoldsWhatItsCodesAskFor) {
  EXPECT_EQ(refusal_of({{ColumnId::kind, {free_kind}},
                        {ColumnId::begin_wide, {1}},
                        {ColumnId::reference, {reference_code::null}}},
                       1),
            "a column's length does not match its codes");
}

TEST(DecodeBounds, StacksEndWithTheTable) {
  const auto refusal = [](std::int64_t stack) {
    return refusal_of({{ColumnId::kind, {free_kind}},
                       {ColumnId::stack, {255}},
                       {ColumnId::stack_wide, varint(base::zigzag_encode(stack))},
                       {ColumnId::reference, {reference_code::null}}},
                      1, 8);
  };
  EXPECT_EQ(refusal(7), "decoded");
  EXPECT_EQ(refusal(8), "an event refers to a call stack that does not exist");
}

// Writes a trace by `write`, changes the header of its chunk number `number`.
template <typename Write, typename Change>
void write_with_header(const std::string& path, std::size_t number, Write write, Change change) {
  int error = 0;
  const auto writer = Writer::create(path, false, error);
  std::vector<std::uint64_t> offsets;
  write(*writer, offsets);
  ASSERT_TRUE(writer->finish({EndReason::exited}));
  std::vector<char> content = content_of(path);
  ChunkHeader header;
  std::memcpy(&header, content.data() + offsets.at(number), sizeof header);
  change(header);
  header.header_crc = crc_of(header);
  std::memcpy(content.data() + offsets.at(number), &header, sizeof header);
  content.resize(content.size() - 1);  // no footer: the chunks are found one by one
  put_content(path, content);
}

TEST(TableBounds, IdsThatWereGivenOnceStayAsTheyAre) {
  const TemporaryFile file("twice");
  const auto write = [](Writer& writer, std::vector<std::uint64_t>& offsets) {
    for (std::uint64_t pc : {1000U, 2000U}) {
      offsets.push_back(writer.bytes_written());
      const Frame frame{pc, Frame::no_module, false};
      ASSERT_TRUE(writer.write(std::span(&frame, 1)));
    }
  };
  write_with_header(file.path(), 1, write, [](ChunkHeader& header) { header.first = 0; });
  const Reader reader = Reader::open(file.path());
  ASSERT_EQ(reader.frames().size(), 1U);
  EXPECT_EQ(reader.frames()[0].pc, 1000U);
  EXPECT_FALSE(reader.damage().empty());
}

TEST(TableBounds, AFrameBeyondTheModulesHasNone) {
  const TemporaryFile file("module");
  int error = 0;
  const auto writer = Writer::create(file.path(), false, error);
  Module module;
  module.start = 0x1000;
  module.end = 0x2000;
  ASSERT_TRUE(writer->write(std::span(&module, 1)));
  const Frame frames[] = {{0x1500, 0, false}, {0x1500, 1, false}};
  ASSERT_TRUE(writer->write(std::span(frames)));
  ASSERT_TRUE(writer->finish({EndReason::exited}));
  const Reader reader = Reader::open(file.path());
  ASSERT_EQ(reader.frames().size(), 2U);
  EXPECT_EQ(reader.frames()[0].module, 0U);
  EXPECT_EQ(reader.frames()[1].module, Frame::no_module);
}

// A small trace with `times` chunks in front whose few bytes unpack to `unpacked_bytes` zeros each.
void write_bombs(const std::string& path, ChunkHeader header, std::size_t unpacked_bytes, int times) {
  write_small_trace(path, 1, 5);
  std::vector<char> content = content_of(path);
  Bytes payload{static_cast<std::uint8_t>(BlockEncoding::fill)};
  append_varint(payload, unpacked_bytes);
  payload.push_back(0);
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  header.payload_crc = base::crc32c(payload.data(), payload.size());
  header.header_crc = crc_of(header);
  std::vector<char> chunk(sizeof header);
  std::memcpy(chunk.data(), &header, sizeof header);
  chunk.insert(chunk.end(), payload.begin(), payload.end());
  for (int i = 0; i < times; ++i) {
    content.insert(content.begin() + sizeof(FileHeader), chunk.begin(), chunk.end());
  }
  content.resize(content.size() - 1);  // no footer: the chunks are found one by one
  put_content(path, content);
}

std::size_t refusals(const Reader& reader, const std::string& reason) {
  const auto has = [&](const Damage& damage) { return damage.what.find(reason) != std::string::npos; };
  return static_cast<std::size_t>(std::ranges::count_if(reader.damage(), has));
}

TEST(TableBounds, TablesUnpackToNoMoreThanAllowed) {
  const TemporaryFile file("bomb");
  ChunkHeader header;
  header.kind = static_cast<std::uint16_t>(ChunkKind::memory_samples);
  header.count = 1;
  write_bombs(file.path(), header, max_table_bytes, 9);
  EXPECT_GE(refusals(Reader::open(file.path()), "larger than any recorder's"), 1U)
      << "8 of 9 fill what all tables may take";
}

// 65,536 records of no byte each, in 64 bytes of the file.
TEST(TableBounds, RecordsAreNoMoreThanTheFileHasBytes) {
  for (const ChunkKind kind : {ChunkKind::memory_samples, ChunkKind::processor_samples, ChunkKind::refaults,
                               ChunkKind::switches, ChunkKind::named_objects, ChunkKind::python_frames,
                               ChunkKind::code_names, ChunkKind::allocated_types}) {
    const TemporaryFile file("many");
    ChunkHeader header;
    header.kind = static_cast<std::uint16_t>(kind);
    header.count = max_records_per_chunk;
    write_bombs(file.path(), header, max_records_per_chunk, 3);
    const Reader reader = Reader::open(file.path());
    EXPECT_EQ(refusals(reader, "than any recorder's"), 3U) << header.kind;
    EXPECT_FALSE(reader.event_chunks().empty());
  }
}

}  // namespace
}  // namespace heapwright::trace::test
