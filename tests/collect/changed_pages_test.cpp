// SPDX-License-Identifier: MIT
#include "collect/changed_pages.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <random>
#include <set>

namespace heapwright::collect::test {
namespace {

constexpr std::uint64_t page_bytes = 4096;

std::set<std::uint64_t> pages_of(const PageRanges& ranges) {
  std::set<std::uint64_t> pages;
  std::uint64_t end = 0;
  for (const auto& range : ranges) {
    EXPECT_LT(range.begin, range.end);
    EXPECT_LE(end, range.begin);
    end = range.end;
    for (std::uint64_t at = range.begin; at < range.end; at += page_bytes) pages.insert(at);
  }
  return pages;
}

PageRanges random_ranges(std::mt19937_64& random) {
  PageRanges ranges;
  std::uint64_t at = 0;
  for (std::uint64_t i = random() % 12; i > 0; --i) {
    at += random() % 5 * page_bytes;
    const std::uint64_t end = at + (1 + random() % 5) * page_bytes;
    ranges.push_back({at, end});
    at = end;
  }
  return ranges;
}

}  // namespace

TEST(ChangedPages, RangesAreJoinedAsSetsOfPages) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 5'000; ++round) {
    const PageRanges a = random_ranges(random);
    const PageRanges b = random_ranges(random);
    std::set<std::uint64_t> both;
    std::set<std::uint64_t> only_a;
    const std::set<std::uint64_t> in_b = pages_of(b);
    for (const std::uint64_t page : pages_of(a)) (in_b.contains(page) ? both : only_a).insert(page);
    ASSERT_EQ(pages_of(common(a, b)), both);
    ASSERT_EQ(pages_of(without(a, b)), only_a);
  }
}

TEST(ChangedPages, AreThoseThatWereWrittenTo) {
  if (!can_tell_changed_pages()) GTEST_SKIP() << "this kernel has no soft-dirty bits";
  constexpr std::uint64_t pages = 300;
  void* const made = mmap(nullptr, pages * page_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  ASSERT_NE(made, MAP_FAILED);
  const auto begin = reinterpret_cast<std::uint64_t>(made);
  ASSERT_TRUE(note_changed_pages("/proc/self"));
  std::set<std::uint64_t> expected = pages_of({{begin, begin + pages * page_bytes}});
  for (std::uint64_t page = 0; page < pages; page += 7) {
    static_cast<volatile char*>(made)[page * page_bytes + page] = 1;
    expected.erase(begin + page * page_bytes);
  }
  const PageRanges memory{{begin, begin + pages * page_bytes}};
  EXPECT_EQ(pages_of(unchanged_pages("/proc/self", memory)), expected);
  // Another mapping at the same place. The kernel may join it with its neighbours, which then count as
  // changed.
  mmap(static_cast<char*>(made) + 3 * page_bytes, page_bytes, PROT_READ | PROT_WRITE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | MAP_FIXED, -1, 0);
  EXPECT_FALSE(pages_of(unchanged_pages("/proc/self", memory)).contains(begin + 3 * page_bytes));
  munmap(made, pages * page_bytes);
}

}  // namespace heapwright::collect::test
