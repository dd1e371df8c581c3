// SPDX-License-Identifier: MIT
// Graphs come back as written; damaged and impossible ones are refused.
#include "trace/heap_graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "made_trace.hpp"
#include "trace/damage.hpp"

namespace heapwright::trace::test {
namespace {

HeapGraph random_heap_graph(std::uint32_t nodes, std::size_t edges) {
  std::mt19937_64 random(3);
  HeapGraph graph;
  graph.time_ns = 5'000'000;
  graph.stopped_ns = 1234;
  graph.copies = 3;
  graph.missed_blocks = 17;
  std::uint64_t address = 0x5555'0000'0000;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    address += 16 + random() % 100'000;
    graph.nodes.push_back({address, random() % 5000, static_cast<std::uint32_t>(random() % 3)});
  }
  graph.roots = {{RootKind::data, 0, "/usr/bin/one", "g_sessions"},
                 {RootKind::stack, 42, "", ""},
                 {RootKind::mapping, 0, "", "", 2}};
  graph.types = {"Session", "shared::Object"};
  graph.type_of.resize(nodes);
  for (std::uint32_t i = 0; i < nodes; ++i) graph.type_of[i] = i % 7 == 0 ? 2 : i % 3 != 0 ? 1 : 0;
  for (std::size_t i = 0; i < edges; ++i) {
    graph.edges.push_back({static_cast<std::uint32_t>(i * (nodes + 3) / edges),
                           static_cast<std::uint32_t>(random() % nodes), random() % 100 * 8,
                           random() % 2 == 0});
  }
  return graph;
}

// Writes it with two stacks.
void write_trace(const std::string& path, const std::vector<HeapGraph>& graphs) {
  int error = 0;
  const auto writer = Writer::create(path, true, error);
  ASSERT_NE(writer, nullptr);
  ASSERT_TRUE(write_stacks(*writer, 2));
  for (const HeapGraph& graph : graphs) ASSERT_TRUE(write_heap_graph(graph, *writer));
  ASSERT_TRUE(writer->finish({.reason = EndReason::exited}));
}

std::string refusal_of(const HeapGraph& graph) {
  const TemporaryFile file("heap_graph");
  write_trace(file.path(), {graph});
  try {
    read_heap_graph(Reader::open(file.path()), graph.time_ns);
  } catch (const TraceError& error) {
    return error.what();
  }
  return "read";
}

}  // namespace

TEST(HeapGraph, ComesBackAsWrittenOverManyChunks) {
  const TemporaryFile file("heap_graph");
  const HeapGraph graph = random_heap_graph(70'000, 150'000);
  write_trace(file.path(), {graph});
  const Reader reader = Reader::open(file.path());
  EXPECT_TRUE(reader.damage().empty());
  ASSERT_EQ(heap_graph_times(reader), std::vector{graph.time_ns});
  const HeapGraph found = read_heap_graph(reader, graph.time_ns);
  EXPECT_EQ(found.time_ns, graph.time_ns);
  EXPECT_EQ(found.stopped_ns, graph.stopped_ns);
  EXPECT_EQ(found.copies, graph.copies);
  EXPECT_EQ(found.missed_blocks, graph.missed_blocks);
  EXPECT_TRUE(found.nodes == graph.nodes);
  EXPECT_TRUE(found.roots == graph.roots);
  EXPECT_TRUE(found.edges == graph.edges);
  EXPECT_EQ(found.types, graph.types);
  EXPECT_TRUE(found.type_of == graph.type_of);
  EXPECT_LT(std::filesystem::file_size(file.path()), 70'000 * 10 + 150'000 * 6) << "six bytes a pointer";
}

TEST(HeapGraph, EachIsReadByItsTime) {
  const TemporaryFile file("heap_graph");
  const HeapGraph first = random_heap_graph(20, 30);
  HeapGraph later = random_heap_graph(10, 10);
  later.time_ns *= 2;
  write_trace(file.path(), {first, later});
  const Reader reader = Reader::open(file.path());
  EXPECT_EQ(heap_graph_times(reader), (std::vector{first.time_ns, later.time_ns}));
  EXPECT_TRUE(read_heap_graph(reader, first.time_ns).nodes == first.nodes);
  EXPECT_TRUE(read_heap_graph(reader, later.time_ns).nodes == later.nodes);
}

TEST(HeapGraph, IsMissingWhereNoneWasTaken) {
  const TemporaryFile file("heap_graph");
  write_small_trace(file.path(), 1, 10);
  EXPECT_TRUE(heap_graph_times(Reader::open(file.path())).empty());
}

TEST(HeapGraph, OneThatWasCutOffIsNotListed) {
  const TemporaryFile file("heap_graph");
  const HeapGraph first = random_heap_graph(20, 30);
  HeapGraph later = random_heap_graph(70'000, 150'000);
  later.time_ns *= 2;
  write_trace(file.path(), {first, later});
  std::vector<char> cut = content_of(file.path());
  cut.resize(cut.size() / 2);
  put_content(file.path(), cut);
  EXPECT_EQ(heap_graph_times(Reader::open(file.path())), std::vector{first.time_ns});
}

TEST(HeapGraph, OneWithADamagedSummaryHidesNoOther) {
  const TemporaryFile file("heap_graph");
  HeapGraph first = random_heap_graph(20, 30);
  first.stopped_ns = UINT64_MAX;  // ten bytes that are nowhere else
  HeapGraph later = random_heap_graph(10, 10);
  later.time_ns *= 2;
  write_trace(file.path(), {first, later});
  std::vector<char> damaged = content_of(file.path());
  const std::string wanted(9, static_cast<char>(0xff));
  const auto at = std::search(damaged.begin(), damaged.end(), wanted.begin(), wanted.end());
  ASSERT_NE(at, damaged.end());
  *at = 0;
  put_content(file.path(), damaged);
  EXPECT_EQ(heap_graph_times(Reader::open(file.path())), std::vector{later.time_ns});
}

TEST(HeapGraph, IsRefusedIfANumberIsImpossible) {
  HeapGraph graph = random_heap_graph(10, 10);
  EXPECT_EQ(refusal_of(graph), "read");
  graph.edges.back().to = 10;
  EXPECT_EQ(refusal_of(graph), "a pointer of a snapshot leads nowhere");
  graph = random_heap_graph(10, 10);
  graph.edges.back().from = 13;
  EXPECT_EQ(refusal_of(graph), "a pointer of a snapshot leads nowhere");
  graph = random_heap_graph(10, 10);
  graph.nodes[5].address = graph.nodes[4].address;
  EXPECT_EQ(refusal_of(graph), "the blocks of a snapshot overlap");
}

TEST(HeapGraph, ATypeOfNoBlockIsRefused) {
  HeapGraph graph = random_heap_graph(10, 10);
  Bytes records;
  encode_records(std::vector<GraphType>{{"Session", {3, 10}}}, records);
  EXPECT_THROW(decode_types({records.data(), records.size()}, 1, graph), TraceError);
  records.clear();
  encode_records(std::vector<GraphType>{{"Session", {3, 9}}}, records);
  EXPECT_NO_THROW(decode_types({records.data(), records.size()}, 1, graph));
}

TEST(HeapGraph, AByteThatChangedIsNeverTakenForAnotherGraph) {
  const TemporaryFile file("heap_graph");
  const HeapGraph graph = random_heap_graph(200, 400);
  write_trace(file.path(), {graph});
  const std::vector<char> whole = content_of(file.path());
  for (std::size_t at = 100; at < whole.size(); at += 7) {
    std::vector<char> damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    put_content(file.path(), damaged);
    try {
      const Reader reader = Reader::open(file.path());
      for (const std::uint64_t time_ns : heap_graph_times(reader)) {
        EXPECT_TRUE(read_heap_graph(reader, time_ns).edges == graph.edges) << "byte " << at;
      }
    } catch (const TraceError&) {
      continue;
    }
  }
}

}  // namespace heapwright::trace::test
