// SPDX-License-Identifier: MIT
// length: one way to make a scan, and all that is asked of it
// Scans joined with blocks: layouts worked out by hand, and random ones
// against a model of single bytes that shares no code.
#include "analyze/facts/residency.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>

#include "scan_records.hpp"

namespace heapwright::analyze {
namespace {

constexpr std::uint64_t library = 0x7f0000000000;

std::uint64_t sum_of(const Residency& of) {
  return of.live_bytes - of.untouched_bytes + of.rounding_bytes + of.partly_free_bytes + of.free_page_bytes +
         of.allocator_bytes + of.other_bytes;
}

}  // namespace

TEST(Residency, LargeBlocksTellBySiteWhatOfThemIsUntouched) {
  MemoryTrace trace;
  trace.malloc(0, 1000, at(0), 64 * page, 1);    // 16 of its pages are resident
  trace.malloc(0, 2000, at(80), 32 * page, 1);   // none
  trace.malloc(0, 3000, at(120), 15 * page, 2);  // not large
  trace.malloc(0, 4000, at(140), 16 * page, 3);  // all
  add_scan(trace, {{0, library * 2, 10'000, 11'000, 0, 0}},
           {anonymous(at(0), 16), anonymous(at(120), 2), anonymous(at(140), 17)},
           {mapping(heap, 200, "[heap]")});
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.untouched.size(), 1U);
  EXPECT_EQ(facts.untouched[0].scan, 0U);
  EXPECT_EQ(facts.untouched[0].site, 1U);
  EXPECT_EQ(facts.untouched[0].blocks, 2U);
  EXPECT_EQ(facts.untouched[0].live_bytes, 96 * page);
  EXPECT_EQ(facts.untouched[0].untouched_bytes, 80 * page);
}

TEST(Residency, SortsPagesByWhatLiesOnThem) {
  MemoryTrace trace;
  trace.metadata_record.program = "/bin/made";
  trace.module_records = {{library, library + 2 * page, library, 0, 0, "/lib/some.so.6", ""}};
  trace.thread_records = {{0, 7, "made", 0, 0, 0, 0, 0, library + 20 * page}};
  trace.malloc(0, 1000, at(0), 1000, 1);          // usable 1008
  trace.malloc(0, 2000, at(1), page - 8, 2);      // a page for itself
  trace.malloc(0, 3000, at(4), 5 * page - 8, 3);  // only two of its pages are resident
  trace.free(0, 4000, at(1));                     // leaves a free page
  trace.add(0, {trace::EventKind::mmap_, 5000, 16, 2 * page, 0, library + 30 * page, 0, 4, 0});
  const trace::Mapping guard = {library + 60 * page, library + 61 * page, 0, 0, ""};
  add_scan(trace, {{0, at(100), 10'000, 11'000, 0, 0}, {at(100), library * 2, 11'000, 12'000, 0, 0}},
           {anonymous(at(0), 3),
            anonymous(at(4), 2),
            anonymous(library, 2),
            anonymous(library + 20 * page, 1),
            anonymous(library + 30 * page, 1),
            {library + 40 * page, library + 43 * page, trace::PageKind::file, false},
            {library + 50 * page, library + 51 * page, trace::PageKind::swapped, false},
            anonymous(library + 61 * page, 3),
            anonymous(library + 71 * page, 1)},
           {mapping(heap, 64, "[heap]"),
            mapping(library, 1, "/lib/some.so"),
            mapping(library + page, 1, ""),
            mapping(library + 18 * page, 4, ""),
            mapping(library + 30 * page, 4, ""),
            mapping(library + 40 * page, 8, "/data"),
            guard,
            mapping(library + 61 * page, 4, ""),
            {library + 68 * page, library + 69 * page, 0, 0, ""},
            mapping(library + 70 * page, 2, "")});
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.residency.size(), 1U);
  const auto& of = facts.residency[0];
  EXPECT_TRUE(of.is_largest != 0 && of.is_at_live_peak != 0 && of.is_last != 0);
  EXPECT_EQ(of.resident_bytes, 16 * page);
  EXPECT_EQ(sum_of(of), of.resident_bytes);
  EXPECT_EQ(of.live_blocks, 2U);
  EXPECT_EQ(of.live_bytes, 1000 + 5 * page - 8);
  EXPECT_EQ(of.untouched_bytes, 3 * page - 8);
  EXPECT_EQ(of.rounding_bytes, 8U);
  EXPECT_EQ(of.partly_free_bytes, page - 1008);
  EXPECT_EQ(of.free_page_bytes, page) << "the block of its own that is gone";
  EXPECT_EQ(of.allocator_bytes, page) << "of [heap], never a block's";
  EXPECT_EQ(of.swapped_bytes, page);
  EXPECT_EQ(of.other_bytes, 11 * page);
  std::map<std::string, std::uint64_t> owners;
  for (const auto& owner : facts.resident_owners) {
    owners[facts.resident_names[owner.kind] + " " + facts.resident_names[owner.name]] +=
        owner.anonymous_bytes + owner.file_bytes;
  }
  EXPECT_EQ(owners, (std::map<std::string, std::uint64_t>{{"library some.so", 2 * page},
                                                          {"thread stack made #0", page},
                                                          {"thread stack ", 3 * page},
                                                          {"unknown ", page},
                                                          {"own mapping ", page},
                                                          {"file /data", 3 * page}}));
}

TEST(Residency, MemorySharedWithChildrenIsTheSitesThatMappedIt) {
  MemoryTrace trace;
  trace.malloc(0, 1000, at(0), 992, 1);
  trace.add(0, {trace::EventKind::mmap_, 5000, 16, 4 * page, 0, library, 0, 4, 0});
  add_scan(trace, {{0, library * 2, 10'000, 11'000, 0, 0}},
           {anonymous(at(0), 1),
            {library, library + 3 * page, trace::PageKind::file, false},
            {library + 8 * page, library + 10 * page, trace::PageKind::file, false}},
           {mapping(heap, 1, "[heap]"), mapping(library, 4, "/dev/zero (deleted)"),
            mapping(library + 8 * page, 2, "/dev/zero (deleted)")});
  const auto facts = facts_of(trace);
  std::map<std::pair<std::string, std::uint32_t>, std::uint64_t> owners;
  for (const auto& owner : facts.resident_owners) {
    EXPECT_EQ(facts.resident_names[owner.kind], "shared memory");
    owners[{facts.resident_names[owner.name], owner.site}] += owner.file_bytes;
  }
  EXPECT_EQ(owners, (std::map<std::pair<std::string, std::uint32_t>, std::uint64_t>{
                        {{"", 4}, 3 * page}, {{"/dev/zero (deleted)", 0}, 2 * page}}));
}

TEST(Residency, WhatTheProgramTookBySbrkIsItsOwn) {
  MemoryTrace trace;
  trace.malloc(0, 1000, at(0), 992, 1);
  const auto sbrk = [&](std::uint64_t time_ns, std::uint64_t before, std::int64_t increment,
                        std::uint32_t stack) {
    const auto bytes = static_cast<std::uint64_t>(increment);
    trace.add(0, {trace::EventKind::sbrk_, time_ns, 16, bytes, 0, before + bytes, 0, stack, 0});
  };
  sbrk(2000, at(4), 6 * 4096, 2);
  sbrk(3000, at(10), 100, 3);        // the next page is this one's,
  sbrk(4000, at(10) + 100, 200, 4);  // and not this one's
  sbrk(5000, at(10) + 300, -300, 4);
  sbrk(6000, at(10), -4096, 2);
  sbrk(7000, at(9), 0, 5);
  add_scan(trace, {{0, library, 10'000, 11'000, 0, 0}}, {anonymous(at(0), 12)},
           {mapping(heap, 12, "[heap]")});
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.resident_owners.size(), 1U);
  EXPECT_EQ(facts.resident_names[facts.resident_owners[0].kind], "own mapping");
  EXPECT_EQ(facts.resident_owners[0].site, 2U);
  EXPECT_EQ(facts.resident_owners[0].anonymous_bytes, 5 * page);
  EXPECT_EQ(facts.residency.at(0).allocator_bytes, 6 * page) << "what is left of [heap]";
  ASSERT_EQ(facts.mappings.size(), 2U);
  EXPECT_EQ(facts.mappings[0].bytes, 6 * page);
  EXPECT_EQ(facts.mappings[0].unmapped_bytes, page);
  EXPECT_EQ(facts.mappings[1].site, 3U);
  EXPECT_EQ(facts.mappings[1].at_end_bytes, 0U);
}

// A large block, given back to the kernel when it was freed; the program maps the same addresses.
TEST(Residency, WhatTheProgramMapsWhereABlockLayIsItsOwn) {
  const auto of = [](std::uint64_t live_block) {
    MemoryTrace trace;
    trace.malloc(0, 1000, at(0), 16 * page - 16, 1);
    trace.free(0, 2000, at(0));
    trace.add(0, {trace::EventKind::mmap_, 3000, 16, 16 * page, 0, at(0), 0, 2, 0});
    trace.malloc(0, 4000, live_block, 100, 3);
    add_scan(trace, {{0, library, 10'000, 11'000, 0, 0}}, {anonymous(at(0), 16)}, {mapping(at(0), 16, "")});
    return facts_of(trace);
  };
  const auto own = of(at(100));
  EXPECT_EQ(own.residency.at(0).free_page_bytes, 0U);
  EXPECT_EQ(own.residency.at(0).other_bytes, 16 * page);
  EXPECT_EQ(own.resident_owners.at(0).site, 2U);
  EXPECT_TRUE(std::none_of(own.heap_parts.begin(), own.heap_parts.end(),
                           [](const HeapPart& part) { return part.free_page_bytes != 0; }));
  // An allocator of the program's own, say, in memory that it mapped.
  const auto pool = of(at(3));
  EXPECT_EQ(pool.residency.at(0).free_page_bytes, 15 * page);
}

TEST(Residency, EachWindowHasItsOwnMoment) {
  MemoryTrace trace;
  trace.malloc(0, 1000, at(0), 992, 1);
  trace.malloc(0, 1500, at(1), 992, 1);
  trace.free(0, 20'500, at(0));  // after the first window, before the second
  trace.free(0, 20'600, at(1));
  trace.malloc(0, 40'000, at(2), 992, 1);  // after both
  add_scan(trace, {{0, at(1), 20'000, 20'400, 0, 0}, {at(1), at(8), 30'000, 30'400, 0, 0}},
           {anonymous(at(0), 1), anonymous(at(1), 2)}, {mapping(heap, 64, "[heap]")});
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.residency.size(), 1U);
  const auto& of = facts.residency[0];
  EXPECT_EQ(of.live_blocks, 1U);
  EXPECT_EQ(of.partly_free_bytes, page - 1000);
  EXPECT_EQ(of.free_page_bytes, 2 * page) << "one held a block before, the other will";
  EXPECT_EQ(of.ambiguous_bytes, 0U);
  EXPECT_EQ(sum_of(of), of.resident_bytes);
}

TEST(Residency, ACallDuringTheLookIsUncertain) {
  MemoryTrace trace;
  trace.malloc(0, 1000, at(0), 992, 1);
  trace.free(0, 20'400, at(0), 400);
  trace.malloc(0, 20'900, at(1), 1992, 1, 200);
  add_scan(trace, {{0, at(8), 20'000, 21'000, 0, 0}}, {anonymous(at(0), 2)}, {mapping(heap, 64, "[heap]")});
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.residency.at(0).ambiguous_bytes, 3000U);
}

TEST(Residency, SurvivorsPinTheirPagesAndHoldWhatLiesBelowTheTop) {
  MemoryTrace trace;
  trace.metadata_record.allocator = "glibc 2.36 (/lib/libc.so.6)";
  trace.malloc(0, 100, at(0), 992, 9);  // another site's, at the bottom
  for (std::uint64_t block = 1; block < 40; ++block) {
    trace.malloc(0, block * 1000, at(block), 1992, block % 4 == 0 ? 2 : 1);
  }
  for (std::uint64_t block = 1; block < 40; ++block) {
    if (block % 4 != 0) trace.free(0, 50'000 + block * 1000, at(block));
  }
  add_scan(trace, {{0, at(99), 200'000, 200'100, 0, 0}}, {anonymous(at(0), 40)},
           {mapping(heap, 64, "[heap]")});
  const auto facts = facts_of(trace);
  const auto& pins = facts.pins;
  ASSERT_EQ(pins.size(), 2U);
  EXPECT_EQ(pins[0].site, 2U);
  EXPECT_EQ(pins[0].blocks, 9U);
  EXPECT_EQ(pins[0].live_bytes, 9 * 1992U);
  EXPECT_EQ(pins[0].pages, 9U);
  EXPECT_EQ(pins[0].pinned_bytes, 9 * (page - 2000));
  // The pages behind the other site's block, to that of the last survivor.
  EXPECT_EQ(pins[0].held_bytes, 36 * page - 9 * 2000);
  EXPECT_EQ(pins[0].usable_bytes, 9 * 2000U);
  // Made at 4000, 8000 ... 36,000 ns and looked at from 200,000 ns on; births are kept to 1 ms.
  EXPECT_EQ(pins[0].age_sum_ns, 9 * 200'000U);
  EXPECT_EQ(pins[0].aligned_bytes, 9 * page) << "each lies at the begin of a page";
  EXPECT_EQ(pins[1].site, 9U);
  EXPECT_EQ(pins[1].held_bytes, 0U);
}

TEST(Residency, AlignedBlocksLieApartInAnyHeap) {
  MemoryTrace trace;
  for (std::uint64_t block = 0; block < 8; ++block) {
    trace.malloc(0, 100 + block, at(block), 192, 1);             // 200 usable, each on a page's begin
    trace.malloc(0, 200 + block, at(block + 8) + 256, 592, 2);   // 600, to 256 B
    trace.malloc(0, 300 + block, at(block + 16) + 16, 1992, 3);  // as malloc gives them
  }
  trace.malloc(0, 500, at(24), 592, 2);
  add_scan(trace, {{0, at(99), 200'000, 200'100, 0, 0}}, {anonymous(at(0), 25)},
           {mapping(heap, 64, "[heap]")});
  auto pins = facts_of(trace).pins;
  ASSERT_EQ(pins.size(), 3U);
  std::sort(pins.begin(), pins.end(), [](const PinSite& a, const PinSite& b) { return a.site < b.site; });
  EXPECT_EQ(pins[0].aligned_bytes, 8 * page);
  EXPECT_EQ(pins[1].aligned_bytes, 9 * 768U);
  EXPECT_EQ(pins[2].aligned_bytes, 0U);
}

TEST(Residency, PinsHaveAnAgeAPageByItsOldestBlock) {
  constexpr std::uint64_t second = 1'000'000'000;
  MemoryTrace trace;
  trace.malloc(0, second, at(0), 992, 1);                  // 19 s old
  trace.malloc(0, 2 * second, at(1), 992, 1);              // 18 s
  trace.malloc(0, 19 * second, at(1, 1000), 992, 1);       // 1 s, on a page that is pinned for 18 s
  trace.malloc(0, 20 * second - 5'000'000, at(2), 92, 1);  // 5 ms
  trace.malloc(0, 3 * second, at(3), page - 8, 2);         // pins nothing
  add_scan(trace, {{0, at(9), 20 * second, 20 * second + 100, 0, 0}}, {anonymous(at(0), 4)}, {});
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.pin_ages.size(), 3U);
  const std::array<std::array<std::uint64_t, 4>, 3> expected = {
      {{1'000'000, 1, 1, page - 100}, {second, 1, 0, 0}, {10 * second, 2, 2, 2 * page - 3000}}};
  for (std::size_t index = 0; index < expected.size(); ++index) {
    const auto& age = facts.pin_ages[index];
    EXPECT_EQ(age.site, 1U);
    EXPECT_EQ((std::array{age.at_least_ns, age.blocks, age.pages, age.pinned_bytes}), expected[index]);
  }
}

TEST(Residency, APageOfTwoSitesIsPinnedByNeither) {
  MemoryTrace trace;
  trace.malloc(0, 100, at(0), 992, 1);
  trace.malloc(0, 200, at(0, 1000), 992, 2);
  trace.malloc(0, 300, at(1), 992, 2);
  add_scan(trace, {{0, at(9), 20'000, 20'100, 0, 0}}, {anonymous(at(0), 2)}, {});
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.pins.size(), 2U);
  EXPECT_EQ(facts.pins[0].site, 2U);
  EXPECT_EQ(facts.pins[0].pages, 1U);
  EXPECT_EQ(facts.pins[0].pinned_bytes, page - 1000);
  EXPECT_EQ(facts.pins[1].site, 1U);
  EXPECT_EQ(facts.pins[1].pages, 0U);
  EXPECT_EQ(facts.pins[1].pinned_bytes, 0U);
  EXPECT_EQ(facts.pins[1].shared_bytes, page - 2000);
}

TEST(Residency, SitesThatShareAPagePinItTogether) {
  MemoryTrace trace;
  for (const std::uint64_t at_page : {0, 1}) {
    trace.malloc(0, 100 + at_page, at(at_page), 992, 3);
    trace.malloc(0, 200 + at_page, at(at_page, 1000), 992, 1);
    trace.malloc(0, 300 + at_page, at(at_page, 2000), 992, 3);
  }
  for (std::uint32_t site = 1; site <= 9; ++site)  // more than a set has
    trace.malloc(0, 400 + site, at(2, site * 64), 56, site);
  for (std::uint32_t site = 1; site <= 8; ++site) trace.malloc(0, 500 + site, at(3, site * 64), 56, site);
  add_scan(trace, {{0, at(9), 20'000, 20'100, 0, 0}}, {anonymous(at(0), 4)}, {});
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.pin_sets.size(), 2U);
  const auto sites_of = [&](const PinSet& set) {
    const auto first = facts.pin_set_sites.begin() + set.first;
    return std::vector<std::uint64_t>(first, first + set.sites);
  };
  EXPECT_EQ(sites_of(facts.pin_sets[1]), (std::vector<std::uint64_t>{1, 3}));
  EXPECT_EQ(facts.pin_sets[1].pages, 2U);
  EXPECT_EQ(facts.pin_sets[1].pinned_bytes, 2 * (page - 3000));
  EXPECT_EQ(facts.pin_sets[0].sites, 8U);
  EXPECT_EQ(facts.pin_sets[0].pages, 1U);
}

TEST(Residency, TheScansWithTheMostAndTheLastAreJoined) {
  MemoryTrace trace;
  for (std::uint64_t block = 0; block < 100; ++block) {
    trace.malloc(0, 1000 + block * 1000, at(block), 992);
  }
  for (std::uint64_t block = 0; block < 100; ++block) {
    trace.free(0, 201'000 + block * 1000, at(block));
  }
  for (std::uint64_t scan = 0; scan < 30; ++scan) {
    const std::uint64_t begin_ns = 5500 + scan * 10'000;
    add_scan(trace, {{0, at(999), begin_ns, begin_ns + 100, 0, 0}},
             {anonymous(at(0), scan == 22 ? 101 : 100)}, {mapping(heap, 128, "[heap]")});
  }
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.residency.size(), 3U);
  EXPECT_TRUE(facts.residency[0].is_at_live_peak);
  EXPECT_GE(facts.residency[0].live_blocks, 91U) << "within a tenth";
  EXPECT_TRUE(facts.residency[1].is_largest);
  EXPECT_EQ(facts.residency[1].live_blocks, 75U);
  EXPECT_TRUE(facts.residency[2].is_last);
  EXPECT_EQ(facts.residency[2].live_blocks, 5U);
  Options options;
  options.to_ns = 100'000;
  const auto early = facts_of(trace, options);
  EXPECT_TRUE(early.residency.back().is_last);
  EXPECT_EQ(early.residency.back().time_ns, 95'550U) << "the last one before the end of the range";
}

// A program that rests with survivors on all its pages, and frees these as it ends.
TEST(Residency, WhatWasFreeBeforeTheLastScanIsKeptBesideIt) {
  MemoryTrace trace;
  for (std::uint64_t block = 0; block < 1000; ++block)
    trace.malloc(0, 1000 + block, at(block), 992, static_cast<std::uint32_t>(block));
  for (std::uint64_t block = 1; block < 1000; ++block) trace.free(0, 20'000 + block, at(block));
  trace.free(0, 90'000, at(0));
  for (const std::uint64_t begin_ns : {10'000, 50'000, 95'000}) {
    add_scan(trace, {{0, at(1999), begin_ns, begin_ns + 100, 0, 0}}, {anonymous(at(0), 1000)},
             {mapping(heap, 1280, "[heap]")});
  }
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.residency.size(), 3U);
  const auto& rest = facts.residency[1];
  EXPECT_EQ(rest.live_blocks, 1U);
  EXPECT_TRUE(rest.is_most_free_before_last != 0 && rest.is_most_free == 0 && rest.is_last == 0);
  const auto& last = facts.residency[2];
  EXPECT_TRUE(last.is_most_free != 0 && last.is_last != 0 && last.is_most_free_before_last == 0);
}

TEST(Residency, SamplesAreNotJoined) {
  MemoryTrace trace;
  trace.metadata_record.sample_mean_bytes = 4096;
  trace.malloc(0, 1000, at(0), 992);
  add_scan(trace, {{0, at(9), 2000, 2100, 0, 0}}, {anonymous(at(0), 1)}, {});
  EXPECT_TRUE(facts_of(trace).residency.empty());
}

namespace {

struct Life {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t from_ns = 0;
  std::uint64_t to_ns = UINT64_MAX;
};

std::uint64_t common(std::uint64_t begin, std::uint64_t bytes, std::uint64_t from) {
  const auto first = std::max(begin, from);
  const auto last = std::min(begin + bytes, from + page);
  return last > first ? last - first : 0;
}

void add_page(std::uint64_t address, std::uint64_t time_ns, const std::vector<Life>& lives, Residency& sums) {
  std::uint64_t requested = 0;
  std::uint64_t used = 0;
  bool has_held = false;
  for (const auto& life : lives) {
    has_held |= common(life.address, life.size + 8, address) != 0;
    if (life.from_ns <= time_ns && time_ns < life.to_ns) {
      requested += common(life.address, life.size, address);
      used += common(life.address, life.size + 8, address);
    }
  }
  sums.rounding_bytes += used - requested;
  sums.partly_free_bytes += used != 0 ? page - used : 0;
  sums.free_page_bytes += used == 0 && has_held ? page : 0;
  sums.allocator_bytes += used == 0 && !has_held ? page : 0;
  sums.live_bytes += requested;  // resident
}

// The sums of one scan, page by page.
Residency slow_sums(const MemoryTrace::Scan& of, const std::vector<Life>& lives) {
  Residency sums;
  for (const auto& window : of.scan.windows) {
    for (std::uint32_t index = 0; index < window.run_count; ++index) {
      const auto& run = of.scan.runs[window.first_run + index];
      for (auto address = run.begin; address < run.end; address += page) {
        add_page(address, (window.begin_ns + window.end_ns) / 2, lives, sums);
      }
    }
  }
  return sums;
}

}  // namespace

TEST(Residency, RandomBlocksAgreeWithAModelOfPages) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    MemoryTrace trace;
    trace.chunk_events = 40;
    std::vector<Life> lives;
    std::map<std::uint64_t, std::size_t> living;  // by place
    constexpr std::uint64_t place_bytes = 3000;   // blocks cross pages
    for (std::uint64_t time_ns = 1600; time_ns < 1600 * 600; time_ns += 1600) {
      const auto place = random() % 200;
      const auto found = living.find(place);
      if (found != living.end()) {
        lives[found->second].to_ns = time_ns;
        trace.free(0, time_ns, lives[found->second].address);
        living.erase(found);
        continue;
      }
      const auto size = 1 + random() % (place_bytes - 8);
      trace.malloc(0, time_ns, heap + place * place_bytes, size);
      living[place] = lives.size();
      lives.push_back({heap + place * place_bytes, size, time_ns + 16});
    }
    std::vector<trace::ScanWindow> windows;
    std::vector<trace::PageRun> runs;
    std::uint64_t time_ns = 300'008;
    for (std::uint64_t from = 0; from < 160; from += 20) {
      windows.push_back({at(from), at(from + 20), time_ns, time_ns + 16, 0, 0});
      time_ns += 16 + 1600 * (random() % 8);
      for (auto number = from; number < from + 20; ++number) {
        if (random() % 3 != 0) runs.push_back(anonymous(at(number), 1));
      }
    }
    add_scan(trace, windows, runs, {mapping(heap, 200, "[heap]")});
    const auto facts = facts_of(trace);
    ASSERT_EQ(facts.residency.size(), 1U);
    const auto& of = facts.residency[0];
    const auto expected = slow_sums(trace.scan_records[0], lives);
    EXPECT_EQ(of.live_bytes - of.untouched_bytes, expected.live_bytes) << seed;
    EXPECT_EQ(of.rounding_bytes, expected.rounding_bytes) << seed;
    EXPECT_EQ(of.partly_free_bytes, expected.partly_free_bytes) << seed;
    EXPECT_EQ(of.free_page_bytes, expected.free_page_bytes) << seed;
    EXPECT_EQ(of.allocator_bytes, expected.allocator_bytes) << seed;
    EXPECT_EQ(sum_of(of), of.resident_bytes) << seed;
  }
}

}  // namespace heapwright::analyze
