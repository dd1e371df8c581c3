// SPDX-License-Identifier: MIT
// Huge pages at two scans: what of them is there for the huge page alone, worked out by hand.
#include "analyze/touched_pages.hpp"

#include <gtest/gtest.h>

#include "analyze/facts/heap_parts.hpp"
#include "scan_records.hpp"

namespace heapwright::analyze {
namespace {

trace::PageRun huge(std::uint64_t begin, std::uint64_t pages) {
  return {begin, begin + pages * page, trace::PageKind::anonymous, true};
}

void look(MemoryTrace& trace, std::uint64_t time_ns, const std::vector<trace::PageRun>& runs) {
  add_scan(trace, {{0, at(1000), time_ns, time_ns + 1000, 0, 0}}, runs, {mapping(heap, 1000, "[heap]")});
}

MemoryTrace survivor_on_the_first_page() {
  MemoryTrace trace;
  trace.metadata_record.allocator = "glibc 2.36 (/lib/libc.so.6)";
  trace.malloc(0, 1000, at(0), 984, 1);
  return trace;
}

const Residency& last_of(const Facts& facts) { return facts.residency.back(); }

}  // namespace

TEST(TouchedPages, WhatNoBlockEverTouchedIsThereForItsHugePage) {
  auto trace = survivor_on_the_first_page();
  look(trace, 10'000'000, {huge(at(0), 512)});
  const auto facts = facts_of(trace);
  EXPECT_EQ(last_of(facts).huge_unused_bytes, 511 * page);
  EXPECT_EQ(last_of(facts).allocator_bytes, 511 * page);
  EXPECT_EQ(last_of(facts).free_page_bytes, 0U);
}

TEST(TouchedPages, WhatWasFreedAndNeverGivenBackIsFree) {
  auto trace = survivor_on_the_first_page();
  trace.malloc(0, 2000, at(1), 100 * page - 8, 1);
  trace.free(0, 3000, at(1));
  look(trace, 10'000'000, {huge(at(0), 512)});
  look(trace, 20'000'000, {huge(at(0), 512)});
  const auto facts = facts_of(trace);
  EXPECT_EQ(last_of(facts).huge_unused_bytes, 411 * page);
  EXPECT_EQ(last_of(facts).free_page_bytes, 100 * page);
  EXPECT_EQ(facts.heap_parts.at(0).free_page_bytes, 100 * page);
}

TEST(TouchedPages, WhatCameBackAfterItWasGivenBackIsThereForItsHugePage) {
  auto trace = survivor_on_the_first_page();
  trace.malloc(0, 2000, at(1), 511 * page - 8, 1);
  trace.free(0, 3000, at(1));
  look(trace, 10'000'000, {anonymous(at(0), 1), anonymous(at(300), 1)});
  trace.malloc(0, 15'000'000, at(9), 984, 1);  // gone again, after the look
  trace.free(0, 15'000'100, at(9));
  look(trace, 20'000'000, {huge(at(0), 512)});
  const auto facts = facts_of(trace);
  EXPECT_EQ(last_of(facts).huge_unused_bytes, 509 * page);
  EXPECT_EQ(last_of(facts).free_page_bytes, 2 * page);
  EXPECT_EQ(facts.heap_parts.at(1).scan, 1U);
  EXPECT_EQ(facts.heap_parts.at(1).free_page_bytes, 2 * page) << "what malloc_trim would give back";
}

TEST(TouchedPages, WhatIsNotOnAHugePageCameBackByItself) {
  auto trace = survivor_on_the_first_page();
  trace.malloc(0, 2000, at(1), 511 * page - 8, 1);
  trace.free(0, 3000, at(1));
  look(trace, 10'000'000, {anonymous(at(0), 1)});
  look(trace, 20'000'000, {anonymous(at(0), 512), huge(at(512), 100)});
  const auto facts = facts_of(trace);
  EXPECT_EQ(last_of(facts).huge_unused_bytes, 100 * page);
  EXPECT_EQ(last_of(facts).free_page_bytes, 511 * page);
}

TEST(TouchedPages, ABlockThatWasUntouchedAtTheLookMayHaveBeenTouchedAfterIt) {
  auto trace = survivor_on_the_first_page();
  trace.malloc(0, 2000, at(1), 100 * page - 8, 1);  // wide
  trace.malloc(0, 2100, at(200), 984, 1);
  look(trace, 10'000'000, {anonymous(at(0), 1)});
  trace.free(0, 15'000'000, at(1));
  trace.free(0, 15'000'000, at(200));
  look(trace, 20'000'000, {huge(at(0), 512)});
  const auto facts = facts_of(trace);
  EXPECT_EQ(last_of(facts).huge_unused_bytes, 410 * page);
  EXPECT_EQ(last_of(facts).free_page_bytes, 101 * page);
}

TEST(TouchedPages, WhatIsSwappedOutWasNotGivenBack) {
  auto trace = survivor_on_the_first_page();
  trace.malloc(0, 2000, at(1), 511 * page - 8, 1);
  trace.free(0, 3000, at(1));
  look(trace, 10'000'000,
       {anonymous(at(0), 1), {at(1), at(300), trace::PageKind::swapped, false}, anonymous(at(300), 212)});
  look(trace, 20'000'000, {huge(at(0), 512)});
  const auto facts = facts_of(trace);
  EXPECT_EQ(last_of(facts).huge_unused_bytes, 0U);
  EXPECT_EQ(last_of(facts).free_page_bytes, 511 * page);
}

TEST(TouchedPages, WhatNoWindowLookedAtIsNotAbsent) {
  auto trace = survivor_on_the_first_page();
  trace.malloc(0, 2000, at(1), 511 * page - 8, 1);
  trace.free(0, 3000, at(1));
  add_scan(trace, {{0, at(256), 10'000'000, 10'001'000, 0, 0}}, {anonymous(at(0), 1)},
           {mapping(heap, 1000, "[heap]")});  // cut short
  look(trace, 20'000'000, {huge(at(0), 512)});
  const auto facts = facts_of(trace);
  EXPECT_EQ(last_of(facts).huge_unused_bytes, 255 * page);
  EXPECT_EQ(last_of(facts).free_page_bytes, 256 * page);
}

TEST(TouchedPages, OfALibraryThatHoldsNoBlockTheyAreNotTheHeaps) {
  auto trace = survivor_on_the_first_page();
  constexpr std::uint64_t other = 0x7f0000000000;
  add_scan(trace, {{0, other * 2, 10'000'000, 10'001'000, 0, 0}}, {anonymous(at(0), 1), huge(other, 512)},
           {mapping(heap, 1000, "[heap]"), mapping(other, 512, "")});
  const auto facts = facts_of(trace);
  EXPECT_EQ(last_of(facts).huge_unused_bytes, 0U);
  EXPECT_EQ(last_of(facts).other_bytes, 512 * page);
}

// Of scans with many runs every other one, and those that are asked about.
TEST(TouchedPages, WhatIsNotLookedAtIsNotAbsent) {
  auto trace = survivor_on_the_first_page();
  look(trace, 10'000'000, {huge(at(0), 4)});
  look(trace, 20'000'000, {anonymous(at(0), 1)});
  look(trace, 30'000'000, {anonymous(at(0), 3)});
  look(trace, 40'000'000, {huge(at(0), 4)});
  trace.seal();
  constexpr std::uint64_t most_runs = 4;  // of one run each
  TouchedPages touched(trace, {0, 1, 2, 3}, most_runs);
  ASSERT_TRUE(touched.is_wanted());
  const auto untouched = [&](std::initializer_list<std::pair<std::size_t, bool>> looks) {
    TouchedPages pages(trace, {0, 1, 2, 3}, most_runs);
    Piece piece;
    auto* const row = piece.open(1);
    *row = Row{at(0), 1000, 4 * page, 1, 0, 0, trace::EventKind::malloc_, row_acquires};
    piece.close(row + 1, 1);
    pages.add({0, &piece, 0, 1}, Blocks());
    for (const auto& [scan, is_asked] : looks) pages.look_at(scan, is_asked);
    std::uint64_t bytes = 0;
    for (const auto& range : pages.untouched()) bytes += range.end - range.begin;
    return bytes / page;
  };
  EXPECT_EQ(untouched({{0, false}, {1, false}, {2, false}, {3, true}}), 1U);
  EXPECT_EQ(untouched({{0, false}, {1, true}, {2, false}, {3, true}}), 3U);
}

TEST(HeapParts, AMainHeapInTwoMappingsIsOne) {
  auto trace = survivor_on_the_first_page();
  trace.malloc(0, 1100, at(300), 984, 1);
  add_scan(trace, {{0, at(1000), 10'000, 11'000, 0, 0}}, {anonymous(at(0), 1), anonymous(at(300), 1)},
           {mapping(heap, 256, "[heap]"), mapping(at(256), 256, "[heap]")});
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.heap_parts.size(), 1U);
  EXPECT_EQ(facts.resident_names.at(facts.heap_parts[0].kind), "main heap");
  EXPECT_EQ(facts.heap_parts[0].blocks, 2U);
}

}  // namespace heapwright::analyze
