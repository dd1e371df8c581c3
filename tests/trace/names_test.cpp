// SPDX-License-Identifier: MIT
// Names of frames inside a trace: as written, damaged, and made to do harm.
#include "trace/names.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "made_trace.hpp"
#include "trace/chunk_map.hpp"

namespace heapwright::trace::test {

namespace {

// `frames` frames, every fifth without a name, the others with one to three locations.
EmbeddedNames names_made(std::uint32_t frames, std::size_t letters = 10) {
  EmbeddedNames names;
  names.strings = {"", "main.cpp", "shared()"};
  names.first_location = {0};
  for (std::uint32_t frame = 0; frame < frames; ++frame) {
    for (std::uint32_t i = 0; i < frame % 5 % 4; ++i) {
      names.strings.push_back(std::string(letters, 'f') + std::to_string(frame) + "_" + std::to_string(i));
      const auto own = static_cast<std::uint32_t>(names.strings.size() - 1);
      names.locations.push_back({i == 0 ? own : 2, frame % 2, frame * 7, i == 0 ? 1U : 0U});
    }
    names.first_location.push_back(static_cast<std::uint32_t>(names.locations.size()));
  }
  names.objects = {{0, 3, ""}, {1, 1, "/lib/some.so is stripped"}};
  names.types = {{7, "app::Session"}};
  return names;
}

std::vector<std::string> in_words(const Names& names, std::size_t frame) {
  std::vector<std::string> words;
  for (std::uint32_t i = names.first_location[frame]; i < names.first_location[frame + 1]; ++i) {
    const Location& of = names.locations[i];
    words.push_back(names.strings[of.function] + " " + names.strings[of.file] + ":" +
                    std::to_string(of.line) + (of.is_inlined != 0 ? " inlined" : ""));
  }
  return words;
}

void expect_same_names(const Names& actual, const Names& expected, std::size_t frames) {
  ASSERT_EQ(actual.first_location.size(), frames + 1);
  for (std::size_t frame = 0; frame < frames; ++frame) {
    ASSERT_EQ(in_words(actual, frame), in_words(expected, frame)) << frame;
  }
}

Names decoded_names(const std::vector<std::uint8_t>& bytes, std::uint32_t count) {
  return decode_names({bytes.data(), bytes.size()}, count);
}

void write_names(const std::string& path, std::uint32_t frames, const EmbeddedNames& names) {
  int error = 0;
  const auto writer = Writer::create(path, false, error);
  ASSERT_TRUE(writer) << error;
  ASSERT_TRUE(writer->write(names));
  ASSERT_TRUE(write_stacks(*writer, frames));
  ASSERT_TRUE(writer->finish({EndReason::exited, 0, 1000, 0, 0, 0}));
}

std::vector<IndexEntry> names_chunks(const std::string& path) {
  std::vector<Damage> damage;
  std::vector<IndexEntry> found = find_chunks(InputFile(path), damage);
  std::erase_if(found, [](const IndexEntry& entry) {
    return entry.header.kind != static_cast<std::uint16_t>(ChunkKind::names);
  });
  return found;
}

}  // namespace

TEST(Names, ComeBackFromAFile) {
  const TemporaryFile file("names");
  const EmbeddedNames names = names_made(50);
  write_names(file.path(), 50, names);
  const Reader reader = Reader::open(file.path());
  EXPECT_TRUE(reader.damage().empty());
  ASSERT_NE(reader.names(), nullptr);
  expect_same_names(*reader.names(), names, 50);
  ASSERT_EQ(reader.names()->objects.size(), 2U);
  EXPECT_EQ(reader.names()->objects[1].module, 1U);
  EXPECT_EQ(reader.names()->objects[1].source, 1U);
  EXPECT_EQ(reader.names()->objects[1].problem, "/lib/some.so is stripped");
  ASSERT_EQ(reader.names()->types.size(), 1U);
  EXPECT_EQ(reader.names()->types[0].frame, 7U);
  EXPECT_EQ(reader.names()->types[0].name, "app::Session");
}

TEST(Names, OfManyFramesTakeSeveralChunks) {
  const TemporaryFile file("names");
  const EmbeddedNames names = names_made(3000, 700);
  write_names(file.path(), 3000, names);
  EXPECT_GE(names_chunks(file.path()).size(), 2U);
  const Reader reader = Reader::open(file.path());
  EXPECT_TRUE(reader.damage().empty());
  expect_same_names(*reader.names(), names, 3000);
}

TEST(Names, ARecordersTraceHasNone) {
  const TemporaryFile file("names");
  write_small_trace(file.path(), 1, 100);
  EXPECT_EQ(Reader::open(file.path()).names(), nullptr);
}

TEST(Names, AChunkThatIsLostTakesNoOtherNamesAlong) {
  const TemporaryFile file("names");
  const EmbeddedNames names = names_made(3000, 700);
  write_names(file.path(), 3000, names);
  const IndexEntry lost = names_chunks(file.path())[1];
  std::vector<char> content = content_of(file.path());
  content[static_cast<std::size_t>(lost.file_offset + lost.chunk_bytes) - 1] ^= 1;
  put_content(file.path(), content);
  const Reader reader = Reader::open(file.path());
  ASSERT_EQ(reader.damage().size(), 1U);
  EXPECT_NE(reader.damage()[0].what.find("a table of names is unreadable"), std::string::npos);
  ASSERT_NE(reader.names(), nullptr);
  for (std::size_t frame = 0; frame < 3000; ++frame) {
    const bool is_lost = frame >= lost.header.first && frame < lost.header.first + lost.header.count;
    EXPECT_EQ(in_words(*reader.names(), frame),
              is_lost ? std::vector<std::string>() : in_words(names, frame));
  }
}

TEST(Names, OfFramesThatAreNotThereAreLeftOut) {
  const TemporaryFile file("names");
  write_names(file.path(), 10, names_made(5000));
  const Reader reader = Reader::open(file.path());
  expect_same_names(*reader.names(), names_made(5000), 10);
}

TEST(Names, LongOnesAreCutAndManyLocationsToo) {
  EmbeddedNames names;
  names.strings = {"", std::string(max_text_bytes + 9, 'x')};
  names.first_location = {0, 150};
  names.locations.assign(150, {1, 0, 5, 1});
  std::vector<std::uint8_t> bytes;
  EXPECT_EQ(encode_names(names, 0, bytes), 1U);
  const Names read = decoded_names(bytes, 1);
  EXPECT_EQ(read.strings[1].size(), max_text_bytes);
  EXPECT_EQ(read.locations.size(), max_locations_per_frame);
}

TEST(Names, RefusesWhatNoWriterWrites) {
  EXPECT_THROW(decoded_names({}, 1), TraceError) << "nothing";
  EXPECT_THROW(decoded_names({0}, 1), TraceError) << "fewer frames than it counts";
  EXPECT_THROW(decoded_names({1, 1, 'f'}, 0xffffffff), TraceError) << "a huge count";
  EXPECT_THROW(decoded_names({0xff, 0xff, 0xff, 0xff, 0x0f}, 0), TraceError) << "a huge number of texts";
  EXPECT_THROW(decoded_names({1, 200, 'f', 0}, 1), TraceError) << "a text behind the end";
  EXPECT_THROW(decoded_names({1, 1, 'f', 1, 2, 0, 0}, 1), TraceError) << "a function that is not there";
  EXPECT_THROW(decoded_names({1, 1, 'f', 1, 1, 2, 0}, 1), TraceError) << "a file that is not there";
  EXPECT_THROW(decoded_names({1, 1, 'f', 101}, 1), TraceError) << "too many locations";
  EXPECT_THROW(decoded_names({1, 1, 'f', 1, 1, 0, 0xff, 0xff, 0xff, 0xff, 0x7f}, 1), TraceError) << "a line";
  EXPECT_THROW(decoded_names({1, 1, 'f', 1, 1, 0}, 1), TraceError) << "a location that is cut";
  std::vector<std::uint8_t> many = {0x81, 0x80, 0x04};  // 65537 texts, which are there
  many.resize(many.size() + 65537);
  EXPECT_THROW(decoded_names(many, 0), TraceError);
}

TEST(Names, MemoryIsBoundedOverAllChunks) {
  Names all;
  Names part;
  part.strings.assign(1, "");
  part.first_location = {0};
  for (std::uint32_t i = 0; i < 65536; ++i) part.first_location.push_back((i + 1) * 32);
  part.locations.assign(part.first_location.back(), {});
  std::uint64_t first = 0;
  EXPECT_THROW(
      {
        for (; first < max_frames; first += 65536) append_names(all, first, part);
      },
      TraceError);
  EXPECT_LE(all.locations.size(), max_named_locations);
  EXPECT_THROW(append_names(all, 0, part), TraceError) << "ids go back";
  EXPECT_THROW(append_names(all, UINT64_MAX - 5, part), TraceError) << "ids beyond all";
  EXPECT_THROW(append_names(all, max_frames, part), TraceError);
}

TEST(Names, AnyByteOfAChunkMayBeDamaged) {
  std::vector<std::uint8_t> bytes;
  const std::uint32_t count = encode_names(names_made(40), 0, bytes);
  const auto read = [&](std::size_t at, unsigned mask) {
    std::vector<std::uint8_t> damaged = bytes;
    damaged[at] = static_cast<std::uint8_t>(damaged[at] ^ mask);
    const Names names = decoded_names(damaged, count);
    for (const Location& of : names.locations) {
      ASSERT_TRUE(of.function < names.strings.size() && of.file < names.strings.size());
    }
  };
  std::size_t refused = 0;
  for (std::size_t i = 0; i < 3 * bytes.size(); ++i) {
    try {
      read(i / 3, std::array{1U, 128U, 255U}[i % 3]);
    } catch (const TraceError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 0U);
}

}  // namespace heapwright::trace::test
