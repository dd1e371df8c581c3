// SPDX-License-Identifier: MIT
#include "heap/pages/huge_pages.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "heap/base/settings.hpp"
#include "heap/front/allocate.hpp"
#include "heap/service/process.hpp"

namespace heapwright::heap {
namespace {

std::uint64_t now_ns = 0;
std::uint64_t step_ns = 0;
std::uint64_t read_fake_clock() noexcept { return now_ns += step_ns; }

// Of the mapping that begins there: whether huge pages are asked for.
bool is_asked_for(const char* begin) {
  std::ifstream maps("/proc/self/smaps");
  char wanted[32];
  std::snprintf(wanted, sizeof(wanted), "%lx-", reinterpret_cast<unsigned long>(begin));
  bool is_here = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.rfind(wanted, 0) == 0) is_here = true;
    if (is_here && line.rfind("VmFlags:", 0) == 0) return line.find(" hg") != std::string::npos;
  }
  ADD_FAILURE() << "no mapping begins at " << wanted;
  return false;
}

TEST(HugePages, ARangeIsAskedForWhereOnePageIsQuick) {
  constexpr std::size_t bytes = std::size_t{8} << 20;
  for (const auto& [taken_ns, is_quick] : {std::pair{200'000ULL, true}, {4'000'000ULL, false}}) {
    void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    // A page that cannot be used on either side keeps its mapping apart.
    auto* const begin = static_cast<char*>(mapped) + 4096;
    mprotect(mapped, 4096, PROT_NONE);
    step_ns = taken_ns;
    EXPECT_EQ(ask_if_quick(begin, bytes - 4096, read_fake_clock), is_quick);
    EXPECT_EQ(is_asked_for(begin), is_quick);
    munmap(mapped, bytes);
  }
}

// Of the mapping in which it lies.
bool lies_in_asked_for(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  const auto at = reinterpret_cast<unsigned long>(address);
  bool is_here = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) is_here = begin <= at && at < end;
    if (is_here && line.rfind("VmFlags:", 0) == 0) return line.find(" hg") != std::string::npos;
  }
  ADD_FAILURE() << "not mapped";
  return false;
}

TEST(HugePages, BlocksThatMayGrowGetNone) {
  ASSERT_TRUE(initialize_process());
  const HugePages before = std::exchange(settings.huge_pages, HugePages::always);
  std::vector<void*> small(100'000);
  for (void*& block : small) block = allocate(1000);  // 100 MB: beyond what was mapped at the start
  char* growing = static_cast<char*>(allocate(100'000));
  EXPECT_FALSE(lies_in_asked_for(growing));
  for (std::size_t bytes = 200'000; bytes < std::size_t{16} << 20; bytes *= 2) {
    growing = static_cast<char*>(reallocate(growing, bytes));
    EXPECT_FALSE(lies_in_asked_for(growing)) << bytes;
    EXPECT_FALSE(lies_in_asked_for(growing + bytes - 1)) << bytes;
  }
  const std::size_t long_bytes = std::size_t{200} << 20;
  char* const long_block = static_cast<char*>(allocate(long_bytes));
  EXPECT_TRUE(lies_in_asked_for(long_block + long_bytes / 2));
  EXPECT_TRUE(lies_in_asked_for(small[small.size() / 2]));
  release(long_block);
  release(growing);
  for (void* block : small) release(block);
  settings.huge_pages = before;
}

}  // namespace
}  // namespace heapwright::heap
