// SPDX-License-Identifier: MIT
#include "heapwright/huge_pages.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "heapwright/arena.hpp"

namespace {

using heapwright::huge_page_resource;

bool is_mapped(const void* address) {
  unsigned char pages = 0;
  return mincore(const_cast<void*>(address), 1, &pages) == 0;
}

TEST(HugePages, AreAlignedUsableAndGivenBack) {
  for (const std::size_t bytes : {std::size_t{1} << 20, std::size_t{5} << 20, (std::size_t{2} << 20) + 1}) {
    void* first = huge_page_resource::instance()->allocate(bytes, 64);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % huge_page_resource::page_bytes, 0U);
    std::memset(first, 1, bytes);
    EXPECT_TRUE(is_mapped(first));
    huge_page_resource::instance()->deallocate(first, bytes, 64);
    EXPECT_FALSE(is_mapped(first));
  }
  void* small = huge_page_resource::instance()->allocate(100);
  huge_page_resource::instance()->deallocate(small, 100);
}

TEST(HugePages, ServeAnArena) {
  heapwright::arena memory({.first_block_bytes = 2 << 20,
                            .largest_block_bytes = 8 << 20,
                            .upstream = huge_page_resource::instance()});
  for (int i = 0; i < 100000; ++i) *static_cast<int*>(memory.allocate(104)) = i;
  EXPECT_LE(memory.usage().upstream_allocations, 3U);
}

}  // namespace
