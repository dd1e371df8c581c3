// SPDX-License-Identifier: MIT
// Which release belongs to which block, whatever the recording looks like.
#include <gtest/gtest.h>

#include "memory_trace.hpp"

namespace heapwright::analyze {
namespace {

TEST(Pairing, CountsEveryOutcome) {
  MemoryTrace trace;
  trace.malloc(0, 1600, 0x1000, 100);
  trace.free(0, 3200, 0x1000);
  trace.malloc(0, 4800, 0x1000, 50);
  trace.free(0, 6400, 0);
  trace.free(0, 8000, 0x9990);
  trace.add(0, {trace::EventKind::malloc_, 9600, 16, 1U << 30, 0, 0, 0, 1, 0});
  trace.malloc(0, 11200, 0x2000, 0);
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.totals.events, 7U);
  EXPECT_EQ(facts.totals.allocations, 3U);
  EXPECT_EQ(facts.totals.releases, 2U);
  EXPECT_EQ(facts.totals.null_frees, 1U);
  EXPECT_EQ(facts.totals.unknown_releases, 1U);
  EXPECT_EQ(facts.totals.failed, 1U);
  EXPECT_EQ(facts.totals.zero_size, 1U);
  EXPECT_EQ(facts.totals.requested_bytes, 150U);
  EXPECT_EQ(facts.totals.usable_bytes, 174U);
  EXPECT_EQ(facts.totals.allocator_ns, 7U * 16);
  EXPECT_EQ(facts.totals.span_ns, 11216U - 1600);
  EXPECT_EQ(facts.sites[1].live_at_end_blocks, 2U);
  EXPECT_EQ(facts.sites[1].live_at_end_bytes, 50U);
}

TEST(Pairing, ForkChildInheritsBlocks) {
  MemoryTrace trace;
  trace.metadata_record.is_fork_child = true;
  trace.malloc(0, 1600, 0x1000, 100);
  trace.free(0, 3200, 0x1000);
  trace.free(0, 4800, 0x9990);
  trace.free(0, 6400, 0x8880);
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.totals.inherited_releases, 2U);
  EXPECT_EQ(facts.totals.unknown_releases, 0U);
  EXPECT_EQ(facts.totals.releases, 3U);
  EXPECT_EQ(facts.sites[1].live_at_end_blocks, 0U);
}

// Thread 1 gives the block back inside its free, thread 0 gets the address
// although its call began earlier and its chunk comes first.
TEST(Pairing, AddressMovesBetweenThreadsWhileCallsOverlap) {
  MemoryTrace trace;
  trace.malloc(1, 160, 0x1000, 10, 1);
  trace.malloc(0, 1600, 0x1000, 20, 2, 3200);  // ends at 4800
  trace.free(1, 3200, 0x1000, 800);
  trace.free(1, 9600, 0x1000);
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.totals.reused_live_addresses, 0U);
  EXPECT_EQ(facts.totals.unknown_releases, 0U);
  EXPECT_EQ(facts.peak.live_bytes, 20U);
  EXPECT_EQ(facts.stacks[1].lifetime_sum_ns, 3200U - 176);
  EXPECT_EQ(facts.stacks[2].lifetime_sum_ns, 9600U - 4800);
}

TEST(Pairing, ReleaseComesFirstWithinOneQuantum) {
  MemoryTrace trace;
  trace.malloc(1, 160, 0x1000, 10, 1);
  trace.malloc(0, 1600, 0x1000, 20, 2, 0);
  trace.free(1, 1600, 0x1000, 0);
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.totals.reused_live_addresses, 0U);
  EXPECT_EQ(facts.stacks[1].freed, 1U);
  EXPECT_EQ(facts.stacks[2].live_at_end_bytes, 20U);
}

// Times are cut down to quanta, so an acquisition may seem to end shortly
// before the release that made it possible.
TEST(Pairing, ForgivesAnInversionOfAQuantum) {
  MemoryTrace trace;
  trace.malloc(1, 160, 0x1000, 10, 1);
  trace.malloc(0, 1568, 0x1000, 20, 2, 12);
  trace.free(1, 1600, 0x1000);
  trace.free(0, 3200, 0x1000);
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.totals.reused_live_addresses, 0U);
  EXPECT_EQ(facts.totals.unknown_releases, 0U);
  EXPECT_EQ(facts.stacks[1].freed, 1U);
  EXPECT_EQ(facts.stacks[2].freed, 1U);
  EXPECT_EQ(facts.stacks[2].live_at_end_blocks, 0U);
}

TEST(Pairing, WithoutDurationsAnInversionMayBeLonger) {
  MemoryTrace trace;
  trace.metadata_record.durations_recorded = false;
  trace.malloc(1, 160, 0x1000, 10, 1, 0);
  trace.malloc(0, 1600, 0x1000, 20, 2, 0);
  trace.free(1, 9600, 0x1000, 0);
  trace.free(0, 16000, 0x1000, 0);
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.totals.reused_live_addresses, 0U);
  EXPECT_EQ(facts.totals.unknown_releases, 0U);
  EXPECT_EQ(facts.stacks[1].freed, 1U);
  EXPECT_EQ(facts.stacks[2].freed, 1U);
}

TEST(Pairing, MissedFreeClosesTheOldBlockWithoutALifetime) {
  MemoryTrace trace;
  trace.malloc(0, 1600, 0x1000, 100, 1);
  trace.malloc(0, 3200, 0x1000, 30, 2);
  trace.free(0, 4800, 0x1000);
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.totals.reused_live_addresses, 1U);
  EXPECT_FALSE(facts.completeness.is_complete);
  EXPECT_EQ(facts.stacks[1].freed, 0U);
  EXPECT_EQ(facts.stacks[1].live_at_end_bytes, 0U);
  EXPECT_EQ(facts.stacks[2].freed, 1U);
  EXPECT_EQ(facts.peak.live_bytes, 100U);
}

// One thread's calls are never out of order: its release soon after is that of
// the block that has the address now.
TEST(Pairing, OneThreadsReleaseIsNotThatOfTheDisplacedBlock) {
  MemoryTrace trace;
  trace.malloc(0, 1600, 0x1000, 100, 1, 0);
  trace.malloc(0, 3200, 0x1000, 30, 2, 0);
  trace.free(0, 3216, 0x1000);
  trace.malloc(0, 4800, 0x2000, 5, 3, 0);
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.totals.reused_live_addresses, 1U);
  EXPECT_EQ(facts.stacks[1].freed, 0U);
  EXPECT_EQ(facts.stacks[2].freed, 1U);
  EXPECT_EQ(facts.stacks[2].live_at_end_blocks, 0U);
}

TEST(Pairing, SizedReleasesAreCheckedAgainstTheBlock) {
  MemoryTrace trace;
  trace.malloc(0, 1600, 0x1000, 100);
  trace.add(0, {trace::EventKind::delete_sized, 3200, 16, 100, 0, 0x1000, 0, 0, 0});
  trace.malloc(0, 4800, 0x1000, 100);
  trace.add(0, {trace::EventKind::free_sized_, 6400, 16, 96, 0, 0x1000, 0, 0, 0});
  trace.malloc(0, 8000, 0x1000, std::uint64_t{5} << 32);
  trace.add(0, {trace::EventKind::delete_array_sized, 9600, 16, std::uint64_t{5} << 32, 0, 0x1000, 0, 0, 0});
  trace.malloc(0, 11200, 0x1000, 100);
  trace.free(0, 12800, 0x1000);
  EXPECT_EQ(facts_of(trace).totals.size_mismatches, 1U);
}

TEST(Pairing, MappingsAreNotHeapBlocks) {
  MemoryTrace trace;
  trace.add(0, {trace::EventKind::mmap_, 1600, 16, 8192, 0, 0x10000, 0, 1, 0});
  trace.add(0, {trace::EventKind::mmap_, 3200, 16, 4096, 0, 0, 0, 1, 0});
  trace.add(0, {trace::EventKind::munmap_, 4800, 16, 4096, 0, 0x10000, 0, 1, 0});
  trace.add(0, {trace::EventKind::brk_, 6400, 16, 0, 0, 0x20000, 0, 1, 0});
  trace.add(0, {trace::EventKind::malloc_usable_size_, 8000, 16, 0, 24, 0x30000, 0, 1, 0});
  trace.add(0, {trace::EventKind::malloc_trim_, 9600, 16, 0, 0, 1, 0, 1, 0});
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.totals.events, 6U);
  EXPECT_EQ(facts.totals.mapped_bytes, 8192U);
  EXPECT_EQ(facts.totals.unmapped_bytes, 4096U);
  EXPECT_EQ(facts.totals.allocations, 0U);
  EXPECT_EQ(facts.totals.releases, 0U);
  EXPECT_EQ(facts.peak.live_bytes, 0U);
  EXPECT_EQ(facts.by_kind.size(), 5U);
}

TEST(Mappings, AreCountedForTheStackThatMapped) {
  using trace::EventKind;
  MemoryTrace trace;
  trace.add(0, {EventKind::mmap_, 1600, 16, 16384, 0, 0x10000, 0, 1, 0});   // pages 16 to 19
  trace.add(0, {EventKind::mmap_, 3200, 16, 5000, 0, 0x20000, 0, 2, 0});    // two pages
  trace.add(1, {EventKind::munmap_, 4800, 16, 4096, 0, 0x11000, 0, 3, 0});  // a hole, by another thread
  trace.add(0, {EventKind::mmap_, 6400, 16, 4096, 0, 0x12000, 0, 2, 0});    // over a page of the first
  trace.add(0, {EventKind::mremap_, 8000, 16, 12288, 8192, 0x30000, 0x20000, 4, 0});
  trace.add(0, {EventKind::munmap_, 9600, 16, 4096, 0, 0x90000, 0, 3, 0});  // never mapped here
  trace.add(0, {EventKind::munmap_, 11200, 16, 65536, 0, 0, 0, 3, 0});      // failed
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.mappings.size(), 3U);
  const auto expect = [](const MappingSite& row, std::uint32_t site, std::uint64_t calls, std::uint64_t pages,
                         std::uint64_t unmapped, std::uint64_t at_end) {
    EXPECT_EQ(row.site, site);
    EXPECT_EQ(row.calls, calls) << site;
    EXPECT_EQ(row.bytes, pages * 4096) << site;
    EXPECT_EQ(row.unmapped_bytes, unmapped * 4096) << site;
    EXPECT_EQ(row.at_end_bytes, at_end * 4096) << site;
  };
  expect(facts.mappings[0], 1, 1, 4, 2, 2);
  expect(facts.mappings[1], 2, 2, 3, 2, 1);
  expect(facts.mappings[2], 4, 1, 3, 0, 3);
}

TEST(Mappings, WhatIsReservedGivenBackAndOfFilesIsTold) {
  using trace::EventKind;
  constexpr std::uint64_t page = 4096;
  constexpr std::uint64_t reserve = 0x22U << 8U;  // PROT_NONE, private, anonymous
  constexpr std::uint64_t usable = 3U | reserve;  // readable, writable
  constexpr std::uint64_t of_file = 1U | (0x2U << 8U);
  MemoryTrace trace;
  trace.add(0, {EventKind::mmap_, 1600, 16, 64 * page, reserve, 0x100000, 0, 1, 0});
  trace.add(0, {EventKind::mprotect_, 3200, 16, 8 * page, 3, 0x102000, 0, 5, 0});
  trace.add(0, {EventKind::mprotect_, 4800, 16, 2 * page, 0, 0x103000, 0, 5, 0});
  trace.add(0, {EventKind::mmap_, 6400, 16, 8 * page, usable, 0x200000, 0, 2, 0});
  trace.add(0, {EventKind::madvise_, 8000, 16, 10 * page, 4, 0x1fe000, 0, 5, 0});  // 8 pages of it
  trace.add(0, {EventKind::madvise_, 8100, 16, 16 * page, 3, 0x1fe000, 0, 5, 0});  // will be needed
  trace.add(0, {EventKind::mmap_, 9600, 16, 4 * page, of_file, 0x300000, 0, 3, 0});
  trace.add(0, {EventKind::mmap_, 11200, 16, 2 * page, 0, 0x400000, 0, 4, 0});  // of an older trace
  trace.add(0, {EventKind::mremap_, 12800, 16, 66 * page, 64 * page, 0x800000, 0x100000, 6, 0});
  const auto facts = facts_of(trace);
  const auto row_of = [&](std::uint32_t site) {
    for (const auto& row : facts.mappings) {
      if (row.site == site) return row;
    }
    return MappingSite{};
  };
  EXPECT_EQ(row_of(1).unmapped_bytes, 64 * page);
  EXPECT_EQ(row_of(6).reserved_at_end_bytes, 66 * page) << "as the old one began";
  EXPECT_EQ(row_of(2).given_back_bytes, 8 * page);
  EXPECT_EQ(row_of(2).reserved_at_end_bytes, 0U);
  EXPECT_EQ(row_of(2).of_files_bytes, 0U);
  EXPECT_EQ(row_of(3).of_files_bytes, 4 * page);
  EXPECT_EQ(row_of(4).reserved_at_end_bytes, 0U);
  EXPECT_EQ(row_of(4).of_files_bytes, 0U);
}

TEST(Mappings, ProtectingAPartLeavesTheRestReserved) {
  using trace::EventKind;
  constexpr std::uint64_t page = 4096;
  MemoryTrace trace;
  trace.add(0, {EventKind::mmap_, 1600, 16, 64 * page, 0x22U << 8U, 0x100000, 0, 1, 0});
  trace.add(0, {EventKind::mprotect_, 3200, 16, 8 * page, 3, 0x102000, 0, 5, 0});
  trace.add(0, {EventKind::mprotect_, 4800, 16, 2 * page, 0, 0x103000, 0, 5, 0});
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.mappings.size(), 1U);
  EXPECT_EQ(facts.mappings[0].at_end_bytes, 64 * page);
  EXPECT_EQ(facts.mappings[0].reserved_at_end_bytes, 58 * page);
}

TEST(Mappings, ARangeCountsItsOwnAndKnowsWhatWasThere) {
  using trace::EventKind;
  MemoryTrace trace;
  trace.add(0, {EventKind::mmap_, 1600, 16, 8192, 0, 0x10000, 0, 1, 0});
  trace.add(0, {EventKind::munmap_, 16000, 16, 4096, 0, 0x10000, 0, 1, 0});
  Options options;
  options.from_ns = 8000;
  const auto facts = facts_of(trace, options);
  ASSERT_EQ(facts.mappings.size(), 1U);
  EXPECT_EQ(facts.mappings[0].calls, 0U);
  EXPECT_EQ(facts.mappings[0].bytes, 0U);
  EXPECT_EQ(facts.mappings[0].unmapped_bytes, 4096U);
  EXPECT_EQ(facts.mappings[0].at_end_bytes, 4096U);
}

TEST(Mappings, AtTheEdgesOfTheAddressSpaceBreakNothing) {
  using trace::EventKind;
  MemoryTrace trace;
  for (const std::uint64_t address :
       {std::uint64_t{1}, UINT64_MAX, UINT64_MAX - 4095, std::uint64_t{1} << 63}) {
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, UINT64_MAX}) {
      trace.add(0, {EventKind::mmap_, 1600, 16, bytes, 0, address, 0, 1, 0});
      trace.add(0, {EventKind::mremap_, 1600, 16, bytes, UINT64_MAX, address, address / 2, 1, 0});
      trace.add(0, {EventKind::munmap_, 1600, 16, bytes, 0, address, 0, 1, 0});
    }
  }
  const auto facts = facts_of(trace);
  std::uint64_t at_end = 0;
  for (const auto& row : facts.mappings) at_end += row.at_end_bytes;
  EXPECT_LE(at_end, facts.mappings.empty() ? 0 : ~std::uint64_t{4095});
}

}  // namespace
}  // namespace heapwright::analyze
