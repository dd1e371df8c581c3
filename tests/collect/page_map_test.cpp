// SPDX-License-Identifier: MIT
#include "collect/page_map.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace heapwright::collect {
namespace {

using trace::Mapping;
using trace::MappingFlag;
using trace::PageKind;
using trace::PageRun;

constexpr std::uint64_t mapped_page_bytes = 4096;

// Without a sanitizer's shadow memory: 16 TiB, of which each window is read.
std::vector<Mapping> own_mappings() {
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;
  std::ostringstream text;
  text << std::ifstream("/proc/self/maps").rdbuf();
  std::vector<Mapping> mappings = parse_mappings(text.str());
  std::erase_if(mappings, [](const Mapping& one) { return one.end - one.begin > most_bytes; });
  return mappings;
}

// Anonymous memory of some pages, none of them there yet.
class Memory {
 public:
  explicit Memory(std::size_t pages, int flags = MAP_PRIVATE) : bytes_(pages * mapped_page_bytes) {
    memory_ = static_cast<char*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0));
    madvise(memory_, bytes_, MADV_NOHUGEPAGE);
  }
  ~Memory() { munmap(memory_, bytes_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void touch(std::size_t page) { static_cast<volatile char*>(memory_)[page * mapped_page_bytes] = 1; }
  std::uint64_t begin() const { return reinterpret_cast<std::uint64_t>(memory_); }
  std::uint64_t end() const { return begin() + bytes_; }

 private:
  std::size_t bytes_;
  char* memory_;
};

// Pages within the memory, by their numbers in it.
std::vector<std::uint64_t> pages_of(const Memory& memory, bool may_ask_kernel, PageKind kind) {
  PageMap map("/proc/self/pagemap", may_ask_kernel);
  const std::vector<Mapping> mappings = own_mappings();
  std::vector<PageRun> runs;
  for (std::uint64_t from = 0; from < PageMap::end_address;) {
    const std::size_t first = runs.size();
    const std::uint64_t end = map.read_window(from, mappings, runs);
    EXPECT_GT(end, from) << "windows go on";
    if (end <= from) break;
    std::uint64_t pages = 0;
    for (std::size_t run = first; run < runs.size(); ++run) {
      EXPECT_GE(runs[run].begin, run == first ? from : runs[run - 1].end);
      EXPECT_LE(runs[run].end, end);
      pages += (runs[run].end - runs[run].begin) / mapped_page_bytes;
    }
    // A huge page may lie across the border.
    EXPECT_LE(pages, PageMap::window_pages + 511);
    from = end;
  }
  std::vector<std::uint64_t> pages;
  for (const PageRun& run : runs) {
    for (std::uint64_t at = std::max(run.begin, memory.begin()); at < std::min(run.end, memory.end());
         at += mapped_page_bytes) {
      if (run.kind == kind) pages.push_back((at - memory.begin()) / mapped_page_bytes);
    }
  }
  return pages;
}

class PageMapTest : public ::testing::TestWithParam<bool> {};

TEST_P(PageMapTest, SeesThePagesThatWereTouched) {
  Memory memory(5000);
  std::vector<std::uint64_t> touched;
  for (std::size_t page = 0; page < 5000; page += page < 2000 ? 1 : 3) {
    memory.touch(page);
    touched.push_back(page);
  }
  EXPECT_EQ(pages_of(memory, GetParam(), PageKind::anonymous), touched);
  EXPECT_TRUE(pages_of(memory, GetParam(), PageKind::file).empty());
}

TEST_P(PageMapTest, SharedMemoryIsOfAFile) {
  Memory memory(100, MAP_SHARED);
  memory.touch(7);
  EXPECT_EQ(pages_of(memory, GetParam(), PageKind::file), std::vector<std::uint64_t>{7});
  EXPECT_TRUE(pages_of(memory, GetParam(), PageKind::anonymous).empty());
}

INSTANTIATE_TEST_SUITE_P(Ways, PageMapTest, ::testing::Bool());

TEST(PageMap, SaysThatItCannotBeOpened) {
  PageMap map("/nowhere/pagemap");
  EXPECT_FALSE(map.is_open());
  std::vector<PageRun> runs;
  EXPECT_EQ(map.read_window(0, own_mappings(), runs), 0U);
}

TEST(PageMap, ReadsTheKernelsLines) {
  const auto mappings = parse_mappings(
      "555555554000-555555556000 r-xp 00002000 08:01 1234                       /usr/bin/a program\n"
      "nonsense\n"
      "555555556000-555555777000 rw-p 00000000 00:00 0                          [heap]\n"
      "7ffff7d00000-7ffff7d21000 rw-s 00000000 00:00 0 \n"
      "7ffff7d00000-7ffff7d22000 rw-p 00000000 00:00 0 \n"
      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n");
  ASSERT_EQ(mappings.size(), 3U);
  EXPECT_EQ(mappings[0].name, "/usr/bin/a program");
  EXPECT_EQ(mappings[0].file_offset, 0x2000U);
  EXPECT_EQ(mappings[0].begin, 0x555555554000U);
  EXPECT_EQ(mappings[0].end, 0x555555556000U);
  EXPECT_TRUE(mappings[0].has(MappingFlag::executable));
  EXPECT_FALSE(mappings[0].has(MappingFlag::writable));
  EXPECT_EQ(mappings[1].name, "[heap]");
  EXPECT_FALSE(mappings[1].has(MappingFlag::shared));
  EXPECT_TRUE(mappings[2].has(MappingFlag::shared));
  EXPECT_TRUE(mappings[2].name.empty());
}

}  // namespace
}  // namespace heapwright::collect
