// SPDX-License-Identifier: MIT
// Pages taken again, joined with blocks: by hand.
#include "analyze/refaults.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "memory_trace.hpp"

namespace heapwright::analyze {
namespace {

using trace::EventKind;

constexpr std::uint64_t page_length = 4096;
constexpr std::uint64_t heap_at = 0x5555'0000'0000;

MemoryTrace glibc_trace() {
  MemoryTrace trace;
  trace.metadata_record.allocator = "glibc 2.36 (/lib/libc.so.6)";
  trace.end_record.time_ns = 1'000'000'000;
  return trace;
}

trace::RefaultRun taken(std::uint64_t time_ns, std::uint64_t address, std::uint64_t pages,
                        std::uint64_t weight = 1) {
  return {time_ns, address / page_length, pages, pages * 500, weight};
}

void freed(MemoryTrace& trace, std::uint64_t begin_ns, std::uint64_t address, std::uint32_t stack,
           std::uint32_t duration_ns = 16) {
  trace.add(0, {EventKind::free_, begin_ns, duration_ns, 0, 0, address, 0, stack, 0, {}});
}

// One buffer comes and goes; the free's stack is known, as it was slow.
TEST(Refaults, AreOfTheBlockOnThePageAndTheFreeBeforeIt) {
  auto trace = glibc_trace();
  for (std::uint64_t i = 0; i < 10; ++i) {
    trace.malloc(0, i * 100'000 + 1000, heap_at + 16, 256 * page_length, 3);
    if (i != 0) trace.refault_records.push_back(taken(i * 100'000 + 60'000, heap_at + page_length, 255));
    freed(trace, i * 100'000 + 70'000, heap_at + 16, 5);
  }
  const Facts facts = facts_of(trace);
  ASSERT_EQ(facts.refault_sites.size(), 1U);
  const auto& row = facts.refault_sites[0];
  EXPECT_EQ(row.stack, 3U);
  EXPECT_EQ(row.free_stack, 5U);
  EXPECT_EQ(row.freed_stack, 3U);
  EXPECT_EQ(row.given_back_by, static_cast<std::uint8_t>(GivenBackBy::heap));
  EXPECT_EQ(row.faults, 9U * 255);
  EXPECT_EQ(row.fault_ns, 9U * 255 * 500);
  EXPECT_EQ(row.times, 9U);
  EXPECT_EQ(facts.processor.heap_refaults, 9U * 255);
}

// A page of a live block is not given back: its second fault is of a fork, or of a first write after a read.
TEST(Refaults, OfALiveBlockAreNotTheHeaps) {
  auto trace = glibc_trace();
  trace.malloc(0, 1000, heap_at + 16, 64 * page_length, 3);
  trace.refault_records = {taken(50'000, heap_at, 64), taken(90'000, heap_at, 64)};
  trace.malloc(0, 200'000, heap_at + 100 * page_length, 24, 4);
  const Facts facts = facts_of(trace);
  EXPECT_TRUE(facts.refault_sites.empty());
  EXPECT_EQ(facts.processor.heap_refaults, 0U);
}

TEST(Refaults, WithinACallAreOfTheBlockThatItMakes) {
  auto trace = glibc_trace();
  trace.malloc(0, 1000, heap_at + 16, 64 * page_length, 3);
  freed(trace, 10'000, heap_at + 16, 0);
  // calloc clears what it returns.
  trace.add(0, {EventKind::calloc_,
                20'000,
                50'000,
                64 * page_length,
                64 * page_length + 8,
                heap_at + 16,
                0,
                6,
                0,
                {}});
  trace.refault_records = {taken(65'000, heap_at, 64)};
  const Facts facts = facts_of(trace);
  ASSERT_EQ(facts.refault_sites.size(), 1U);
  EXPECT_EQ(facts.refault_sites[0].stack, 6U);
  EXPECT_EQ(facts.refault_sites[0].free_stack, 0U);
  EXPECT_EQ(facts.refault_sites[0].freed_stack, 3U);
  EXPECT_EQ(facts.refault_sites[0].faults, 64U);
}

TEST(Refaults, SmallBlocksCountByTheirPage) {
  auto trace = glibc_trace();
  for (std::uint64_t round = 0; round < 2; ++round) {
    const std::uint64_t begin_ns = 1'000'000 * round;
    for (std::uint64_t i = 0; i < 1024; ++i)
      trace.malloc(0, begin_ns + i * 100, heap_at + 16 + i * 64, 48, 7);
    for (std::uint64_t i = 0; i < 1024; ++i)
      trace.free(0, begin_ns + 500'000 + i * 100, heap_at + 16 + i * 64);
  }
  trace.refault_records = {taken(1'000'000 + 102'000, heap_at, 16)};
  const Facts facts = facts_of(trace);
  ASSERT_EQ(facts.refault_sites.size(), 1U);
  EXPECT_EQ(facts.refault_sites[0].stack, 7U);
  EXPECT_EQ(facts.refault_sites[0].freed_stack, 7U);
  EXPECT_EQ(facts.refault_sites[0].faults, 16U);
}

// git maps one small file after the other at one place. The last page of that place becomes a block's.
TEST(Refaults, OfFilesAreNotTheHeaps) {
  constexpr std::uint64_t own = 0x7e00'0000'0000;
  constexpr std::uint64_t read_only = 1;
  const auto faults = [&](std::uint64_t flags) {
    auto trace = glibc_trace();
    for (std::uint64_t i = 0; i < 5; ++i) {
      const std::uint64_t begin_ns = 10'000 * (i + 1);
      trace.add(0, {EventKind::mmap_, begin_ns, 16, page_length, read_only | flags << 8U, own, 0, 8, 0, {}});
      trace.refault_records.push_back(taken(begin_ns + 2000, own, 1));
      trace.add(0, {EventKind::munmap_, begin_ns + 5000, 16, page_length, 0, own, 0, 9, 0, {}});
    }
    trace.malloc(0, 100'000, own + 16, page_length, 3);
    trace.refault_records.push_back(taken(110'000, own, 1));
    return facts_of(trace).processor.heap_refaults;
  };
  EXPECT_EQ(faults(MAP_PRIVATE), 0U);
  EXPECT_EQ(faults(MAP_PRIVATE | MAP_ANONYMOUS), 5U);
}

TEST(Refaults, MappedBlocksAndTheProgramsOwnMappingsAreTold) {
  auto trace = glibc_trace();
  constexpr std::uint64_t mapped = 0x7f00'0000'0000;
  const auto made = [&](std::uint64_t begin_ns) {
    trace.add(0, {EventKind::malloc_, begin_ns, 16, 200'000, 200'688, mapped + 16, 0, 3, 0, {}});
  };
  made(1000);
  freed(trace, 2000, mapped + 16, 5);
  made(3000);
  constexpr std::uint64_t own = 0x7e00'0000'0000;
  trace.add(0, {EventKind::mmap_, 4000, 16, 8 * page_length, 3, own, 0, 8, 0, {}});
  trace.add(0, {EventKind::madvise_, 5000, 16, 8 * page_length, MADV_DONTNEED, own, 0, 9, 0, {}});
  trace.add(0, {EventKind::madvise_, 7000, 16, 8 * page_length, MADV_WILLNEED, own, 0, 9, 0, {}});
  trace.refault_records = {taken(3500, mapped, 49), taken(6000, own, 8, 4), taken(8000, own, 8)};
  const Facts facts = facts_of(trace);
  ASSERT_EQ(facts.refault_sites.size(), 2U);
  EXPECT_EQ(facts.refault_sites[0].given_back_by, static_cast<std::uint8_t>(GivenBackBy::mapped_block));
  EXPECT_EQ(facts.refault_sites[0].faults, 49U);
  const auto& advised = facts.refault_sites[1];
  EXPECT_EQ(advised.given_back_by, static_cast<std::uint8_t>(GivenBackBy::program));
  EXPECT_EQ(advised.stack, 8U);
  EXPECT_EQ(advised.free_stack, 9U);
  EXPECT_EQ(advised.faults, 32U) << "a run that stands for four";
  EXPECT_EQ(advised.times, 4U);
}

// The C library gives only a heap's end back in a free; malloc_trim every free page, whatever the settings.
TEST(Refaults, AfterAMallocTrimAreItsOwn) {
  auto trace = glibc_trace();
  for (std::uint64_t i = 0; i < 10; ++i) {
    trace.malloc(0, i * 100'000 + 1000, heap_at + 16, 16 * page_length, 3);
    trace.refault_records.push_back(taken(i * 100'000 + 60'000, heap_at, 16));
    freed(trace, i * 100'000 + 70'000, heap_at + 16, 5);
    if (i > 5) trace.add(0, {EventKind::malloc_trim_, i * 100'000 + 80'000, 16, 0, 0, 0, 0, 11, 0, {}});
  }
  const Facts facts = facts_of(trace);
  ASSERT_EQ(facts.refault_sites.size(), 2U);
  EXPECT_EQ(facts.refault_sites[0].given_back_by, static_cast<std::uint8_t>(GivenBackBy::heap));
  EXPECT_EQ(facts.refault_sites[0].free_stack, 5U);
  EXPECT_EQ(facts.refault_sites[0].faults, 6U * 16);
  EXPECT_EQ(facts.refault_sites[1].given_back_by, static_cast<std::uint8_t>(GivenBackBy::trim));
  EXPECT_EQ(facts.refault_sites[1].free_stack, 11U);
  EXPECT_EQ(facts.refault_sites[1].freed_stack, 3U);
  EXPECT_EQ(facts.refault_sites[1].faults, 3U * 16);
}

// After a fork, each first write to a page copies it: in the frees of its blocks, or beside one that is gone.
TEST(Refaults, OfCopiesAfterAForkAreNotTheHeaps) {
  auto trace = glibc_trace();
  for (std::uint64_t i = 0; i < 64; ++i) trace.malloc(0, i * 100 + 100, heap_at + 16 + i * 1024, 1000, 3);
  trace.free(0, 20'000, heap_at + 16);
  trace.refault_records.push_back(taken(50'000, heap_at, 8));  // beside the one that is gone
  for (std::uint64_t i = 32; i < 64; ++i) trace.free(0, 60'000 + i * 100, heap_at + 16 + i * 1024);
  trace.refault_records.push_back(taken(70'000, heap_at + 8 * page_length, 8));  // the last of these frees
  trace.malloc(0, 80'000, heap_at + 16, 1000, 4);  // takes a place on the page, which others kept
  const Facts facts = facts_of(trace);
  EXPECT_TRUE(facts.refault_sites.empty());
  EXPECT_EQ(facts.processor.heap_refaults, 0U);
}

TEST(Refaults, AWindowHasItsOwn) {
  auto trace = glibc_trace();
  for (std::uint64_t i = 0; i < 10; ++i) {
    trace.malloc(0, i * 100'000 + 1000, heap_at + 16, 16 * page_length, 3);
    trace.refault_records.push_back(taken(i * 100'000 + 60'000, heap_at, 16));
    freed(trace, i * 100'000 + 70'000, heap_at + 16, 5);
  }
  Options options;
  options.from_ns = 400'000;
  options.to_ns = 700'000;
  EXPECT_EQ(facts_of(trace, options).processor.heap_refaults, 3U * 16);
}

TEST(Refaults, ImpossibleRunsAreLeftOut) {
  auto trace = glibc_trace();
  trace.malloc(0, 1000, heap_at + 16, 16 * page_length, 3);
  freed(trace, 2000, heap_at + 16, 5);
  trace.malloc(0, 3000, heap_at + 16, 16 * page_length, 3);
  trace.refault_records = {
      {3500, UINT64_MAX, 3, 5, 1}, {3500, 0, UINT64_MAX, 5, 1}, {3500, heap_at / page_length, 0, 5, 1}};
  for (std::uint64_t i = 0; i < 40; ++i) {
    trace.refault_records.push_back({3500, i << 30U, std::uint64_t{1} << 22U, 1, UINT64_MAX});
  }
  EXPECT_TRUE(facts_of(trace).refault_sites.empty());
}

}  // namespace
}  // namespace heapwright::analyze
