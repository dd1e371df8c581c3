// SPDX-License-Identifier: MIT
// Resident memory of the program's own mappings over time: layouts worked out by hand.
#include "analyze/own_memory.hpp"

#include <gtest/gtest.h>

#include "analyze/facts/mappings.hpp"
#include "scan_records.hpp"

namespace heapwright::analyze {
namespace {

constexpr std::uint64_t arenas = 0x7f0000000000;
constexpr std::uint64_t arena_pages = 256;  // 1 MiB

void map(MemoryTrace& trace, std::uint64_t time_ns, std::uint64_t at_page, std::uint32_t stack) {
  trace.add(
      0, {trace::EventKind::mmap_, time_ns, 16, arena_pages * page, 0, arenas + at_page * page, 0, stack, 0});
}

void look(MemoryTrace& trace, std::uint64_t begin_ns, const std::vector<trace::PageRun>& runs) {
  add_scan(trace, {{0, arenas * 2, begin_ns, begin_ns + 100, 0, 0}}, runs, {mapping(heap, 8, "[heap]")});
}

}  // namespace

TEST(OwnMemory, TellsWhatOfASitesMappingsWasResidentWhen) {
  MemoryTrace trace;
  trace.malloc(0, 1000, at(0), 992, 1);
  map(trace, 2000, 0, 4);
  map(trace, 12'000, arena_pages, 4);
  map(trace, 12'500, 4 * arena_pages, 5);  // never 1 MiB
  look(trace, 10'000, {anonymous(at(0), 1), anonymous(arenas, 100)});
  look(trace, 20'000,
       {anonymous(at(0), 1), anonymous(arenas, 2 * arena_pages + 7),
        anonymous(arenas + 4 * arena_pages * page, 10)});
  const auto rows = facts_of(trace).own_moments;
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].site, 4U);
  EXPECT_EQ(rows[0].time_ns, 10'000U);
  EXPECT_EQ(rows[0].bytes, 100 * page);
  EXPECT_EQ(rows[1].time_ns, 20'000U);
  EXPECT_EQ(rows[1].bytes, 2 * arena_pages * page) << "the pages beyond are nobody's";
}

TEST(OwnMemory, MappingsWithBlocksAreAHeap) {
  MemoryTrace trace;
  trace.malloc(0, 100, arenas + 2 * arena_pages * page, 992, 1);  // was there before
  trace.free(0, 200, arenas + 2 * arena_pages * page);
  map(trace, 1000, 0, 4);
  map(trace, 1500, 2 * arena_pages, 5);
  trace.malloc(0, 2000, arenas + page, 992, 1);
  look(trace, 10'000,
       {anonymous(arenas, arena_pages), anonymous(arenas + 2 * arena_pages * page, arena_pages)});
  const auto rows = facts_of(trace).own_moments;
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].site, 5U);
}

TEST(OwnMemory, LooksAtScansSpreadOverTheRun) {
  MemoryTrace trace;
  map(trace, 500, 0, 4);
  for (std::uint64_t scan = 0; scan < 1000; ++scan) {
    look(trace, 1000 + scan * 1000, {anonymous(arenas, std::min(arena_pages, scan + 1))});
  }
  const auto rows = facts_of(trace).own_moments;
  ASSERT_GT(rows.size(), 64U);
  ASSERT_LE(rows.size(), 129U);
  EXPECT_EQ(rows.front().time_ns, 1000U);
  EXPECT_GT(rows.back().time_ns, 990'000U);
}

}  // namespace heapwright::analyze
