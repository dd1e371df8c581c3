// SPDX-License-Identifier: MIT
// The parts of a heap at a scan: layouts worked out by hand.
#include "analyze/facts/heap_parts.hpp"

#include <gtest/gtest.h>

#include <string>

#include "scan_records.hpp"

namespace heapwright::analyze {
namespace {

constexpr std::uint64_t arena = 0x7f0004000000;  // 64 MiB
constexpr std::uint64_t mapped = 0x7f1000001000;
constexpr std::uint64_t large = std::uint64_t{200} << 10;

MemoryTrace glibc_trace() {
  MemoryTrace trace;
  trace.metadata_record.allocator = "glibc 2.36 (/lib/libc.so.6)";
  return trace;
}

void malloc_mapped(MemoryTrace& trace, std::uint64_t time_ns, std::uint64_t address, std::uint64_t usable,
                   std::uint32_t stack) {
  trace.add(0, {trace::EventKind::malloc_, time_ns, 16, usable - 100, usable, address, 0, stack, 0});
}

std::string kind_of(const Facts& facts, std::size_t part) {
  return facts.resident_names.at(facts.heap_parts.at(part).kind);
}

}  // namespace

TEST(HeapParts, TheMainHeapArenasAndMappedBlocksAreApart) {
  auto trace = glibc_trace();
  trace.malloc(0, 100, heap + 16, 984, 1);
  trace.malloc(0, 200, heap + page + 16, 984, 1);
  trace.free(0, 300, heap + page + 16);
  trace.malloc(0, 400, arena + 0x8c0, 984, 2);
  trace.malloc(0, 500, arena + 2 * page + 16, 984, 2);
  trace.malloc(0, 600, arena + 3 * page + 16, 984, 2);
  trace.free(0, 700, arena + 2 * page + 16);
  trace.free(0, 800, arena + 3 * page + 16);
  malloc_mapped(trace, 900, mapped + 16, 50 * page - 16, 3);
  add_scan(trace, {{0, UINT64_MAX >> 8, 20'000, 20'100, 0, 0}},
           {anonymous(heap, 2), anonymous(arena, 4), anonymous(mapped, 50)},
           {mapping(heap, 33, "[heap]"), mapping(arena, 33, ""), mapping(mapped, 50, "")});
  const auto facts = facts_of(trace);
  const auto& parts = facts.heap_parts;
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(kind_of(facts, 0), "arena");
  EXPECT_EQ(parts[0].address, arena);
  EXPECT_EQ(parts[0].blocks, 1U);
  EXPECT_EQ(parts[0].used_bytes, 992U);
  EXPECT_EQ(parts[0].partly_free_bytes, page - 992);
  EXPECT_EQ(parts[0].free_page_bytes, 2 * page);
  EXPECT_EQ(parts[0].allocator_bytes, page) << "never a block's";
  EXPECT_EQ(parts[0].above_last_bytes, 3 * page);
  EXPECT_EQ(parts[0].resident_bytes, 4 * page);
  EXPECT_EQ(kind_of(facts, 1), "main heap");
  EXPECT_EQ(parts[1].free_page_bytes, page);
  EXPECT_EQ(kind_of(facts, 2), "mapped blocks");
  EXPECT_EQ(parts[2].used_bytes, 50 * page - 16);
  EXPECT_EQ(parts[2].above_last_bytes, 0U) << "unmapped one by one";
}

TEST(HeapParts, OfEachOptionTheLastCallOfAnyThreadCounts) {
  auto trace = glibc_trace();
  const auto call = [&](std::uint32_t thread, std::uint64_t time_ns, std::uint32_t parameter,
                        std::uint32_t value) {
    trace.add(thread, {trace::EventKind::mallopt_, time_ns, 16, parameter, 0, value, 0, 1, 0});
  };
  const auto minus = [](std::uint32_t number) { return 0U - number; };  // as the recorder writes it
  call(0, 100, minus(1), 1U << 20);
  call(1, 300, minus(1), minus(1));
  call(0, 200, minus(1), 4096);
  call(1, 50, 1, 0);
  trace.malloc(0, 400, heap + 16, 100);
  Options later;
  later.from_ns = 350;
  const auto facts = facts_of(trace, later);
  const auto& options = facts.allocator_options;
  ASSERT_EQ(options.size(), 2U);
  EXPECT_EQ(options[0].parameter, 1U);
  EXPECT_EQ(options[1].parameter, minus(1));
  EXPECT_EQ(options[1].value, minus(1));
  EXPECT_EQ(options[1].time_ns, 300U);
}

TEST(HeapParts, OfAnotherAllocatorAllIsOne) {
  MemoryTrace trace;
  trace.metadata_record.allocator = "jemalloc 5.3.0 (libjemalloc.so.2)";
  malloc_mapped(trace, 100, arena, 64 * page, 1);
  trace.malloc(0, 200, mapped, 984, 2);
  // 64 KiB without a block, of which less is resident, cut by windows; then 60.
  malloc_mapped(trace, 300, arena + 64 * page, 16 * page, 1);
  trace.malloc(0, 350, arena + 80 * page, 984, 2);
  malloc_mapped(trace, 400, arena + 81 * page, 15 * page, 1);
  trace.malloc(0, 450, arena + 96 * page, 984, 2);
  malloc_mapped(trace, 460, arena + 97 * page, 3 * page, 1);  // to the end of the mapping
  trace.free(0, 500, arena + 64 * page);
  trace.free(0, 600, arena + 81 * page);
  trace.free(0, 700, arena + 97 * page);
  const auto cut = arena + 70 * page;
  add_scan(trace, {{0, cut, 20'000, 20'100, 0, 0}, {cut, UINT64_MAX >> 8, 20'200, 20'300, 0, 0}},
           {anonymous(arena, 64), anonymous(arena + 65 * page, 5), anonymous(cut, 8),
            anonymous(arena + 80 * page, 20), anonymous(mapped, 1)},
           {mapping(arena, 100, ""), mapping(mapped, 1, "")});
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.heap_parts.size(), 1U);
  EXPECT_EQ(kind_of(facts, 0), "heap");
  EXPECT_EQ(facts.heap_parts[0].blocks, 4U);
  EXPECT_EQ(facts.heap_parts[0].free_page_bytes, 31 * page);
  EXPECT_EQ(facts.heap_parts[0].short_free_bytes, 18 * page);
  EXPECT_TRUE(facts.part_holders.empty());
  EXPECT_TRUE(facts.threshold_raises.empty());
}

// tcmalloc takes [heap] by brk. Its free pages lie there whatever lives above them.
TEST(HeapParts, AHeapByBrkIsTheCLibrarysOnlyWhereThatIsTheAllocator) {
  MemoryTrace trace;
  trace.metadata_record.allocator = "tcmalloc 2.10 (libtcmalloc_minimal.so.4)";
  trace.malloc(0, 100, heap + 16, 984, 1);
  trace.malloc(0, 200, heap + page + 16, 984, 2);
  trace.malloc(0, 300, heap + 2 * page + 16, 984, 1);
  trace.free(0, 400, heap + page + 16);
  add_scan(trace, {{0, UINT64_MAX >> 8, 20'000, 20'100, 0, 0}}, {anonymous(heap, 3)},
           {mapping(heap, 33, "[heap]")});
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.heap_parts.size(), 1U);
  EXPECT_EQ(kind_of(facts, 0), "heap");
  EXPECT_TRUE(facts.part_holders.empty());
  ASSERT_EQ(facts.pins.size(), 1U);
  EXPECT_EQ(facts.pins[0].held_bytes, 0U) << "what lies above holds nothing";
}

// Pages of the heap, from its begin:   1  2  .  .  3  .  2  .  .
TEST(HeapParts, SitesHoldTheEndOneAfterTheOther) {
  auto trace = glibc_trace();
  const std::uint32_t sites[] = {1, 2, 9, 9, 3, 9, 2, 9, 9};
  for (std::uint64_t number = 0; number < 9; ++number) {
    trace.malloc(0, 100 + number * 100, heap + number * page + 16, 984, sites[number]);
  }
  for (std::uint64_t number = 0; number < 9; ++number) {
    if (sites[number] == 9) trace.free(0, 2000 + number * 100, heap + number * page + 16);
  }
  // Two windows: what lies in the second counts on from the first.
  add_scan(trace,
           {{0, heap + 5 * page, 20'000, 20'100, 0, 0}, {heap + 5 * page, heap << 8, 20'200, 20'300, 0, 0}},
           {anonymous(heap, 5), anonymous(heap + 5 * page, 4)}, {mapping(heap, 33, "[heap]")});
  const auto facts = facts_of(trace);
  constexpr auto rest = page - 992;  // of a page with a block
  const auto& holders = facts.part_holders;
  ASSERT_EQ(holders.size(), 3U);
  EXPECT_EQ(holders[0].site, 2U);
  EXPECT_EQ(holders[0].blocks, 2U);
  EXPECT_EQ(holders[0].free_bytes, rest + 3 * page) << "above the block of site 3";
  EXPECT_EQ(holders[1].site, 3U);
  EXPECT_EQ(holders[1].free_bytes, 3 * rest + 5 * page) << "above the block of site 1";
  EXPECT_EQ(holders[2].site, 1U);
  EXPECT_EQ(holders[2].free_bytes, 4 * rest + 5 * page) << "all that is free";
  EXPECT_EQ(facts.heap_parts.at(0).above_last_bytes, 2 * page);
  ASSERT_EQ(facts.pins.at(0).site, 2U);
  EXPECT_EQ(facts.pins[0].held_bytes, rest + page) << "without what lies above all blocks";
}

TEST(HeapParts, WhereLargeBlocksLayInAnArenaIsKnown) {
  auto trace = glibc_trace();
  trace.malloc(0, 100, heap + 16, 984, 1);
  trace.malloc(0, 200, heap + 2 * page, large, 2);  // 8 usable bytes more: no mapping of its own
  trace.malloc(0, 300, heap + 60 * page, 984, 1);
  trace.malloc(0, 400, heap + 59 * page, 984, 1);
  trace.free(0, 500, heap + 2 * page);
  trace.free(0, 600, heap + 59 * page);
  add_scan(trace, {{0, UINT64_MAX >> 8, 20'000, 20'100, 0, 0}}, {anonymous(heap, 61)},
           {mapping(heap, 64, "[heap]")});
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.heap_parts.at(0).large_free_bytes, 51 * page);
  EXPECT_EQ(facts.heap_parts[0].free_page_bytes, 52 * page);
}

TEST(HeapParts, FreesOfMappedBlocksRaiseTheThreshold) {
  auto trace = glibc_trace();
  malloc_mapped(trace, 1000, mapped + 16, 50 * page - 16, 3);
  trace.free(0, 2000, mapped + 16);
  malloc_mapped(trace, 3000, mapped + 16, 40 * page - 16, 4);  // smaller
  trace.free(0, 4000, mapped + 16);
  trace.malloc(0, 5000, heap + 16, std::uint64_t{1} << 20, 5);  // not mapped apart
  trace.free(0, 6000, heap + 16);
  malloc_mapped(trace, 7000, mapped + 16, 9000 * page - 16, 6);  // beyond 32 MiB
  trace.free(0, 8000, mapped + 16);
  malloc_mapped(trace, 9000, mapped + 16, 99 * page - 16, 7);
  trace.realloc(0, 10'000, mapped + 16, heap + 16, 500, 8);      // frees without raising
  malloc_mapped(trace, 11'000, mapped + 16, 60 * page - 16, 2);  // freed at once, below the peak
  trace.free(0, 11'100, mapped + 16);
  trace.malloc(0, 20'000, heap + 4096, 100);
  Options options;
  options.timeline_points = 2;  // no border between the two calls
  const auto facts = facts_of(trace, options);
  ASSERT_EQ(facts.threshold_raises.size(), 2U);
  EXPECT_EQ(facts.threshold_raises[0].site, 3U);
  EXPECT_EQ(facts.threshold_raises[0].bytes, 50 * page);
  EXPECT_EQ(facts.threshold_raises[0].time_ns, 2000U);
  EXPECT_EQ(facts.threshold_raises[1].site, 2U);
  EXPECT_EQ(facts.threshold_raises[1].bytes, 60 * page);
}

TEST(HeapParts, TheScansAroundATimeThatIsAskedForAreJoined) {
  auto trace = glibc_trace();
  trace.malloc(0, 1000, heap + 16, 984, 1);
  for (std::uint64_t scan = 0; scan < 10; ++scan) {
    const std::uint64_t begin_ns = 5000 + scan * 1000;
    add_scan(trace, {{0, heap << 8, begin_ns, begin_ns + 100, 0, 0}}, {anonymous(heap, scan == 0 ? 2 : 1)},
             {mapping(heap, 64, "[heap]")});
  }
  trace.free(0, 100'000, heap + 16);
  Options options;
  options.at_ns = 8500;
  const auto facts = facts_of(trace, options);
  ASSERT_EQ(facts.residency.size(), 4U);
  EXPECT_TRUE(facts.residency[0].is_largest);
  EXPECT_TRUE(facts.residency[1].is_before_asked);
  EXPECT_EQ(facts.residency[1].time_ns, 8050U);
  EXPECT_TRUE(facts.residency[2].is_after_asked);
  EXPECT_EQ(facts.residency[2].time_ns, 9050U);
  EXPECT_EQ(facts_of(trace).residency.size(), 2U) << "only where it is asked for";
}

TEST(HeapParts, TheScanWithTheMostThatIsNotLiveIsJoined) {
  auto trace = glibc_trace();
  constexpr std::uint64_t blocks = 100;
  constexpr std::uint64_t pages = 100;  // of each
  for (std::uint64_t block = 0; block < blocks; ++block) {
    trace.malloc(0, 1000 + block * 1000, heap + block * pages * page + 16, pages * page - 24, 1);
  }
  for (std::uint64_t block = 0; block < blocks; ++block) {
    trace.free(0, 201'000 + block * 1000, heap + block * pages * page + 16);
  }
  // Resident stays while it is filled and while it is freed, and falls before the last scan.
  for (std::uint64_t scan = 0; scan < 32; ++scan) {
    const std::uint64_t begin_ns = 5500 + scan * 10'000;
    const std::uint64_t resident = scan < 9 ? 10 * (scan + 1) : scan < 31 ? 100 : 1;
    add_scan(trace, {{0, heap << 8, begin_ns, begin_ns + 100, 0, 0}}, {anonymous(heap, resident * pages)},
             {mapping(heap, blocks * pages, "[heap]")});
  }
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.residency.size(), 3U);
  EXPECT_TRUE(facts.residency[0].is_largest && facts.residency[0].is_at_live_peak);
  EXPECT_EQ(facts.residency[0].time_ns, 95'550U);
  EXPECT_FALSE(facts.residency[0].is_most_free);
  EXPECT_TRUE(facts.residency[1].is_most_free);
  EXPECT_GE(facts.residency[1].free_page_bytes, 90 * pages * page) << "within a tenth";
  EXPECT_FALSE(facts.residency[1].is_last);
  EXPECT_TRUE(facts.residency[2].is_last && !facts.residency[2].is_most_free);
}

}  // namespace heapwright::analyze
