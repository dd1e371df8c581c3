// SPDX-License-Identifier: MIT
// Copies with names inside: as complete as what they are of, and nothing else.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "made_trace.hpp"
#include "trace/copies.hpp"
#include "trace/format.hpp"

namespace heapwright::trace::test {

namespace {

const CopyProgress no_progress = [](std::uint64_t, std::uint64_t) {};

EmbeddedNames names_for_copy(const Reader& reader) {
  EmbeddedNames names;
  names.strings = {"", "planted()"};
  names.first_location = {0};
  for (std::size_t i = 0; i < reader.frames().size(); ++i) {
    names.locations.push_back({1, 0, static_cast<std::uint32_t>(i), 0});
    names.first_location.push_back(static_cast<std::uint32_t>(i + 1));
  }
  return names;
}

std::vector<EventBatch> events_in(const Reader& reader) {
  DecodeScratch scratch;
  std::vector<EventBatch> batches;
  for (const EventChunk& chunk : reader.event_chunks()) {
    try {
      reader.decode(chunk, scratch, batches.emplace_back());
    } catch (const TraceError&) {
      batches.back() = {};
    }
  }
  return batches;
}

void expect_equal_events(const Reader& actual, const Reader& expected) {
  const auto batches = events_in(actual);
  const auto wanted = events_in(expected);
  ASSERT_EQ(batches.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    expect_equal(batches[i], wanted[i]);
    const EventChunk& chunk = actual.event_chunks()[i];
    EXPECT_EQ(chunk.thread, expected.event_chunks()[i].thread);
    EXPECT_EQ(chunk.first_sequence, expected.event_chunks()[i].first_sequence);
    EXPECT_EQ(chunk.last_end_ns, expected.event_chunks()[i].last_end_ns);
  }
}

std::vector<std::string> damage_in_words(const Reader& reader) {
  std::vector<std::string> words;
  for (const Damage& damage : reader.damage()) words.push_back(damage.what);
  return words;
}

Replacements replaced(const Reader& reader) {
  Replacements with;
  with.metadata = reader.metadata();
  with.metadata.program = "program_1";
  with.metadata.host = "";
  with.module_paths.assign(reader.modules().size(), "library_1");
  with.build_ids.assign(reader.modules().size(), "b");
  with.thread_names.assign(reader.threads().size(), "thread_1");
  for (std::size_t i = 0; i < reader.frames().size(); ++i) with.pcs.push_back(i + 1);
  with.named = [](const std::string& name) { return name.starts_with("[") ? name : "mapping_1"; };
  with.said = [](const std::string& text) { return text == "a name longer than that" ? "said_1" : "?"; };
  return with;
}

struct Copied {
  TemporaryFile from{"copied_from"};
  TemporaryFile to{"copied_to"};
  int named() {
    const Reader reader = Reader::open(from.path());
    return write_named_copy(reader, names_for_copy(reader), to.path(), no_progress);
  }
  int unnamed() {
    const Reader reader = Reader::open(from.path());
    return write_unnamed_copy(reader, names_for_copy(reader), replaced(reader), to.path(), no_progress);
  }
};

void append_text(EventBatch& batch, const std::string& name, std::uint64_t begin_ns) {
  for (std::size_t at = 0; at < name.size(); at += 16) {
    EventFields event;
    event.kind = EventKind::annotation_text;
    event.begin_ns = begin_ns;
    for (std::size_t i = 0; i < 16 && at + i < name.size(); ++i) {
      std::uint64_t& word = i < 8 ? event.size : event.usable;
      word |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(name[at + i])) << i % 8 * 8;
    }
    append(batch, event);
  }
}

std::string text_at(const EventBatch& batch, std::size_t first, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count * 16; ++i) {
    const std::size_t event = first + i / 16;
    const std::uint64_t word = i % 16 < 8 ? batch.size[event] : batch.usable[event];
    text += static_cast<char>(word >> i % 8 * 8);
  }
  return text.substr(0, text.find('\0'));
}

}  // namespace

TEST(NamedCopy, HasAllThatTheTraceHasAndTheNames) {
  Copied copied;
  write_small_trace(copied.from.path(), 3, 500);
  ASSERT_EQ(copied.named(), 0);
  const Reader from = Reader::open(copied.from.path());
  const Reader to = Reader::open(copied.to.path());
  EXPECT_TRUE(to.damage().empty());
  expect_equal_events(to, from);
  ASSERT_NE(to.names(), nullptr);
  EXPECT_EQ(to.names()->locations.size(), to.frames().size());
  EXPECT_EQ(to.metadata().host, "nowhere");
  EXPECT_EQ(to.scans().size(), 1U);
  EXPECT_EQ(to.mappings_of(to.scans()[0]), made_mappings());
  EXPECT_EQ(to.end().time_ns, from.end().time_ns);
  struct stat status {};
  ASSERT_EQ(::stat(copied.to.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST(NamedCopy, OfAFileCutAnywhereSaysTheSameOfIt) {
  Copied copied;
  write_small_trace(copied.from.path(), 2, 40);
  for (std::size_t bytes = std::filesystem::file_size(copied.from.path()); bytes > sizeof(FileHeader);
       bytes -= 37) {
    std::filesystem::resize_file(copied.from.path(), bytes);
    std::filesystem::remove(copied.to.path());
    ASSERT_EQ(copied.named(), 0);
    const Reader from = Reader::open(copied.from.path());
    const Reader to = Reader::open(copied.to.path());
    ASSERT_EQ(damage_in_words(to), damage_in_words(from)) << bytes;
    ASSERT_EQ(to.end().reason, from.end().reason) << bytes;
    ASSERT_EQ(to.event_count(), from.event_count()) << bytes;
  }
}

TEST(NamedCopy, OfADamagedFileIsAsDamaged) {
  for (const bool has_index : {true, false}) {
    Copied copied;
    write_small_trace(copied.from.path(), 2, 300);
    const std::vector<char> whole = content_of(copied.from.path());
    for (std::size_t at = 100; at + 100 < whole.size(); at += 211) {
      std::vector<char> content = whole;
      content[at] ^= 4;
      if (!has_index) content.resize(content.size() - sizeof(Footer));
      put_content(copied.from.path(), content);
      std::filesystem::remove(copied.to.path());
      ASSERT_EQ(copied.named(), 0);
      const Reader from = Reader::open(copied.from.path());
      const Reader to = Reader::open(copied.to.path());
      ASSERT_EQ(damage_in_words(to), damage_in_words(from)) << at;
      ASSERT_EQ(to.damaged_event_chunks(), from.damaged_event_chunks()) << at;
      expect_equal_events(to, from);
    }
  }
}

TEST(NamedCopy, KeepsNamesThatAreThere) {
  Copied copied;
  write_small_trace(copied.from.path(), 1, 50);
  ASSERT_EQ(copied.named(), 0);
  const Reader named = Reader::open(copied.to.path());
  const TemporaryFile again("copied_again");
  ASSERT_EQ(write_named_copy(named, {}, again.path(), no_progress), 0);
  EXPECT_EQ(content_of(again.path()), content_of(copied.to.path()));
}

TEST(NamedCopy, ReplacesNoFile) {
  Copied copied;
  write_small_trace(copied.from.path(), 1, 50);
  put_content(copied.to.path(), {'x'});
  EXPECT_EQ(copied.named(), EEXIST);
  EXPECT_EQ(copied.unnamed(), EEXIST);
  EXPECT_EQ(content_of(copied.to.path()), std::vector<char>{'x'});
}

TEST(UnnamedCopy, HasAllButTheNames) {
  Copied copied;
  write_small_trace(copied.from.path(), 3, 500);
  ASSERT_EQ(copied.unnamed(), 0);
  const Reader from = Reader::open(copied.from.path());
  const Reader to = Reader::open(copied.to.path());
  EXPECT_TRUE(to.damage().empty());
  expect_equal_events(to, from);
  EXPECT_EQ(to.metadata().program, "program_1");
  EXPECT_EQ(to.modules()[1].path, "library_1");
  EXPECT_EQ(to.modules()[1].build_id, "b");
  EXPECT_EQ(to.modules()[1].bias, to.modules()[1].start);
  EXPECT_EQ(to.modules()[1].unloaded_ns, 900'000U);
  EXPECT_EQ(to.threads()[2].name, "thread_1");
  EXPECT_EQ(to.threads()[2].thread_id, 3U);
  EXPECT_EQ(to.threads()[2].dropped, from.threads()[2].dropped);
  EXPECT_EQ(to.frames()[7].pc, 8U);
  EXPECT_EQ(to.frames()[7].module, from.frames()[7].module);
  EXPECT_EQ(to.stacks().size(), from.stacks().size());
  EXPECT_EQ(to.memory_samples().size(), 2U);
  EXPECT_EQ(to.processor_samples().size(), from.processor_samples().size());
  EXPECT_EQ(to.refaults().size(), from.refaults().size());
  EXPECT_EQ(to.end().dropped, from.end().dropped);
  EXPECT_EQ(to.end().status, 3);
  ASSERT_EQ(to.scans().size(), 1U);
  EXPECT_EQ(to.decode(to.scans()[0]).runs, from.decode(from.scans()[0]).runs);
  EXPECT_EQ(to.scans()[0].resident_bytes, from.scans()[0].resident_bytes);
  std::vector<Mapping> mappings = made_mappings();
  mappings[0].name = "mapping_1";
  EXPECT_EQ(to.mappings_of(to.scans()[0]), mappings);
}

TEST(UnnamedCopy, WhatTheProgramSaidIsReplacedAcrossChunksToo) {
  Copied copied;
  const std::string name = "a name longer than that";
  EventBatch whole;
  append_text(whole, name, 160);
  EventFields between;
  between.kind = EventKind::phase_end;
  between.begin_ns = 160;
  append(whole, between);
  append_text(whole, name, 160);
  EventBatch begin;
  EventBatch end;
  for (std::size_t i = 0; i < whole.count(); ++i) {
    EventFields event;
    event.kind = whole.kind[i];
    event.begin_ns = whole.begin_ns[i];
    event.size = whole.size[i];
    event.usable = whole.usable[i];
    append(i < 4 ? begin : end, event);  // the second name is cut in two
  }
  int error = 0;
  const auto writer = Writer::create(copied.from.path(), false, error);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write_events(0, 0, begin) && writer->write_events(0, 4, end));
  ASSERT_TRUE(writer->finish({EndReason::exited, 0, 1000, 5, 0, 0}));
  ASSERT_EQ(copied.unnamed(), 0);
  const auto batches = events_in(Reader::open(copied.to.path()));
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_EQ(text_at(batches[0], 0, 2), "said_1");
  EXPECT_EQ(text_at(batches[0], 3, 1), "said_1");
  EXPECT_EQ(batches[1].size[0] | batches[1].usable[0], 0U);
}

TEST(UnnamedCopy, OfATraceThatIsNotWholeIsRefused) {
  Copied copied;
  write_small_trace(copied.from.path(), 2, 300);
  const std::vector<char> whole = content_of(copied.from.path());
  const std::uint64_t events_at = Reader::open(copied.from.path()).event_chunks()[1].file_offset;
  std::vector<char> damaged = whole;
  damaged[static_cast<std::size_t>(events_at) + 80] ^= 1;
  put_content(copied.from.path(), damaged);
  EXPECT_THROW(copied.unnamed(), TraceError);
  std::filesystem::remove(copied.to.path());
  put_content(copied.from.path(), {whole.begin(), whole.begin() + 3000});
  EXPECT_THROW(copied.unnamed(), TraceError);
  EXPECT_FALSE(std::filesystem::exists(copied.to.path())) << "refused before it is begun";
}

}  // namespace heapwright::trace::test
