// SPDX-License-Identifier: MIT
// Resident pages by the names of their mappings: sums worked out by hand.
#include "analyze/mapped_memory.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "scan_records.hpp"

namespace heapwright::analyze {
namespace {

constexpr std::uint64_t file_at = heap + 100 * page;

trace::PageRun pages_of(std::uint64_t begin, std::uint64_t pages, trace::PageKind kind) {
  return {begin, begin + pages * page, kind, false};
}

MemoryTrace trace_with_scans(std::size_t scans) {
  MemoryTrace trace;
  for (std::size_t i = 0; i < scans; ++i) {
    const auto begin_ns = 1000 * (i + 1);
    add_scan(trace, {{0, file_at + 100 * page, begin_ns, begin_ns + 10, 0, 0}}, {anonymous(at(0), i + 1)},
             {mapping(heap, 64, "[heap]")});
  }
  trace.seal();
  return trace;
}

}  // namespace

TEST(MappedMemory, SumsRunsOfTheMappingsOfAName) {
  MemoryTrace trace;
  add_scan(
      trace, {{0, file_at + 100 * page, 1000, 1010, 0, 0}},
      {anonymous(at(0), 4), pages_of(at(6), 1, trace::PageKind::swapped),
       pages_of(file_at, 2, trace::PageKind::file), anonymous(file_at + 3 * page, 1),
       anonymous(file_at + 90 * page, 1)},
      // Out of order, as no file has them; the run over both of [heap] lies in the first two pages of each.
      {mapping(file_at, 4, "/lib/x.so"), mapping(at(0), 2, "[heap]"), mapping(at(2), 6, "[heap]")});
  trace.seal();
  const auto rows = mapped_memory_of(trace, 0, UINT64_MAX, 8);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].name, "");
  EXPECT_EQ(rows[0].anonymous_bytes, page) << "of a mapping that the list has not";
  EXPECT_EQ(rows[0].mapped_bytes, 0U);
  EXPECT_EQ(rows[1].name, "/lib/x.so");
  EXPECT_EQ(rows[1].file_bytes, 2 * page);
  EXPECT_EQ(rows[1].anonymous_bytes, page);
  EXPECT_EQ(rows[2].name, "[heap]");
  EXPECT_EQ(rows[2].mappings, 2U);
  EXPECT_EQ(rows[2].mapped_bytes, 8 * page);
  EXPECT_EQ(rows[2].anonymous_bytes, 4 * page);
  EXPECT_EQ(rows[2].swapped_bytes, page);
  EXPECT_EQ(rows[2].time_ns, 1000U);
}

TEST(MappedMemory, TakesSoManyScansTheLastAmongThem) {
  const auto trace = trace_with_scans(10);
  std::vector<std::uint64_t> times;
  for (const auto& row : mapped_memory_of(trace, 0, UINT64_MAX, 3)) {
    times.push_back(row.time_ns);
  }
  EXPECT_EQ(times, (std::vector<std::uint64_t>{3000, 6000, 10'000}));
  EXPECT_EQ(mapped_memory_of(trace, 2000, 4000, 3).size(), 2U) << "a scan at the end is not within";
  EXPECT_TRUE(mapped_memory_of(trace, 20'000, UINT64_MAX, 3).empty());
}

}  // namespace heapwright::analyze
