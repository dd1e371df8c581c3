// SPDX-License-Identifier: MIT
// docs/trace-format.md says the numbers and names that the code uses.
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>

#include "made_trace.hpp"
#include "trace/block.hpp"
#include "trace/column.hpp"
#include "trace/format.hpp"
#include "trace/heap_graph.hpp"
#include "trace/kind_names.hpp"
#include "trace/record_codec.hpp"

namespace heapwright::trace::test {

namespace {

using Table = std::map<std::string, std::string>;  // first cell to second

std::string stripped(const std::string& cell) {
  const auto first = cell.find_first_not_of(" `");
  const auto last = cell.find_last_not_of(" `");
  return first == std::string::npos ? "" : cell.substr(first, last - first + 1);
}

// The first table below the heading.
Table table_below(const std::string& heading) {
  const std::vector<char> content = content_of(std::string(HEAPWRIGHT_SOURCE) + "/docs/trace-format.md");
  std::istringstream document(std::string(content.begin(), content.end()));
  std::string line;
  while (std::getline(document, line) && line != "## " + heading) continue;
  Table table;
  while (std::getline(document, line) && (table.empty() || line.starts_with("|"))) {
    if (!line.starts_with("|")) continue;
    const auto second = line.find('|', 1);
    const auto third = line.find('|', second + 1);
    table[stripped(line.substr(1, second - 1))] = stripped(line.substr(second + 1, third - second - 1));
  }
  table.erase("---");
  return table;
}

template <typename Enum>
void expect_named(const Table& table, const std::vector<std::pair<Enum, std::string>>& names) {
  EXPECT_EQ(table.size(), names.size() + 1) << "rows and the head";
  for (const auto& [value, name] : names) {
    const auto row = table.find(std::to_string(static_cast<unsigned>(value)));
    ASSERT_NE(row, table.end()) << name;
    EXPECT_EQ(row->second, name);
  }
}

}  // namespace

TEST(FormatDocument, NamesEveryEventKind) {
  const Table table = table_below("Event kinds");
  std::size_t named = 0;
  for (unsigned number = 0; number < 256; ++number) {
    const std::string_view name = name_of(static_cast<EventKind>(number));
    if (name == "?") continue;
    ++named;
    const auto row = table.find(std::to_string(number));
    ASSERT_NE(row, table.end()) << name;
    EXPECT_EQ(row->second, name);
  }
  EXPECT_EQ(table.size(), named + 1);
  EXPECT_EQ(named, 50U);
}

TEST(FormatDocument, NamesEveryChunkKind) {
  constexpr auto heap_graph_kind = static_cast<ChunkKind>(heap_graph_chunk);
  expect_named<ChunkKind>(table_below("Chunk kinds"), {{ChunkKind::metadata, "metadata"},
                                                       {ChunkKind::events, "events"},
                                                       {ChunkKind::frames, "frames"},
                                                       {ChunkKind::stacks, "stacks"},
                                                       {ChunkKind::modules, "modules"},
                                                       {ChunkKind::threads, "threads"},
                                                       {ChunkKind::memory_samples, "memory_samples"},
                                                       {ChunkKind::end, "end"},
                                                       {ChunkKind::index, "index"},
                                                       {ChunkKind::switches, "switches"},
                                                       {ChunkKind::mappings, "mappings"},
                                                       {ChunkKind::residency, "residency"},
                                                       {ChunkKind::names, "names"},
                                                       {ChunkKind::named_objects, "named_objects"},
                                                       {ChunkKind::processor_samples, "processor_samples"},
                                                       {ChunkKind::refaults, "refaults"},
                                                       {ChunkKind::python_frames, "python_frames"},
                                                       {ChunkKind::code_names, "code_names"},
                                                       {ChunkKind::allocated_types, "allocated_types"},
                                                       {heap_graph_kind, "heap_graph"}});
}

TEST(FormatDocument, NamesEveryMetadataKey) {
  const Table table = table_below("Metadata keys");
  const Metadata metadata;
  std::uint64_t key = 0;
  fields(metadata, [&](const char* name, const auto&) {
    const auto row = table.find(std::to_string(++key));
    ASSERT_NE(row, table.end()) << name;
    EXPECT_EQ(row->second, name);
  });
  EXPECT_EQ(table.size(), key + 1) << "rows and the head";
}

TEST(FormatDocument, NamesEveryColumnAndBlockEncoding) {
  using Id = ColumnId;
  const Table table = table_below("Events");
  EXPECT_EQ(table.size(), column_limit) << "ids from 1, and the head";
  expect_named<Id>(table, {{Id::kind, "kind"},
                           {Id::begin, "begin"},
                           {Id::begin_wide, "begin_wide"},
                           {Id::duration, "duration"},
                           {Id::duration_wide, "duration_wide"},
                           {Id::stack, "stack"},
                           {Id::stack_wide, "stack_wide"},
                           {Id::size, "size"},
                           {Id::size_wide, "size_wide"},
                           {Id::usable, "usable"},
                           {Id::usable_wide, "usable_wide"},
                           {Id::stated_size, "stated_size"},
                           {Id::stated_usable, "stated_usable"},
                           {Id::made_address, "made_address"},
                           {Id::made_address_wide, "made_address_wide"},
                           {Id::reference, "reference"},
                           {Id::reference_wide, "reference_wide"},
                           {Id::alignment, "alignment"},
                           {Id::kernel, "kernel"}});
  expect_named<BlockEncoding>(
      table_below("Blocks"),
      {{BlockEncoding::raw, "raw"}, {BlockEncoding::fill, "fill"}, {BlockEncoding::zstd, "zstd"}});
}

TEST(FormatDocument, TellsTheConstants) {
  Table table = table_below("Constants");
  EXPECT_EQ(table["format version"], std::to_string(format_version));
  EXPECT_EQ(table["time quantum, ns"], std::to_string(time_quantum_ns));
  EXPECT_EQ(table["duration quantum, ns"], std::to_string(duration_quantum_ns));
  EXPECT_EQ(table["most events in a chunk"], std::to_string(max_events_per_chunk));
  EXPECT_EQ(std::stoul(table["chunk magic"], nullptr, 16), chunk_magic);
  EXPECT_EQ(std::stoul(table["byte order mark"], nullptr, 16), byte_order_mark);
}

}  // namespace heapwright::trace::test
