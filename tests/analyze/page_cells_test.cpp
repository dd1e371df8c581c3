// SPDX-License-Identifier: MIT
#include "analyze/page_cells.hpp"

#include <gtest/gtest.h>

namespace heapwright::analyze {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t cell_bytes = 4 * page_bytes;

}  // namespace

// Two pages of one cell: site 7 has most of the cell, stack 1 most of the first page.
TEST(PageCells, UseBlocksAndTheSiteWithMostOfACell) {
  PageCells cells(cell_bytes);
  cells.add_block(0, 0x10, 5, 1, 2000);
  cells.add_block(0, 0x900, 7, 2, 1000);
  cells.end_page(0, page_bytes, page_bytes - 3000);
  cells.add_block(page_bytes, 0x900, 7, 2, 4000);  // the same block goes on
  cells.end_page(page_bytes, page_bytes, page_bytes - 4000);
  cells.add_block(8 * page_bytes, 8 * page_bytes, 5, 1, page_bytes);
  cells.end_page(8 * page_bytes, page_bytes, 0);
  cells.add_free_page(2 * page_bytes, page_bytes);
  cells.add_free_page(20 * page_bytes, page_bytes);
  std::vector<PageCell> rows;
  std::vector<PathPin> pins;
  cells.finish(3, rows, pins);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].scan, 3U);
  EXPECT_EQ(rows[0].address, 0U);
  EXPECT_EQ(rows[0].resident_bytes, 3 * page_bytes);
  EXPECT_EQ(rows[0].used_bytes, 7000U);
  EXPECT_EQ(rows[0].blocks, 2U);
  EXPECT_EQ(rows[0].site, 7U);
  EXPECT_EQ(rows[1].address, 2 * cell_bytes);
  EXPECT_EQ(rows[1].site, 5U);
  EXPECT_EQ(rows[2].address, 5 * cell_bytes);
  EXPECT_EQ(rows[2].blocks, 0U);
  EXPECT_EQ(rows[2].used_bytes, 0U);
  ASSERT_EQ(pins.size(), 2U) << "a full page pins nothing";
  EXPECT_EQ(pins[0].stack, 1U);
  EXPECT_EQ(pins[0].pinned_bytes, page_bytes - 3000);
  EXPECT_EQ(pins[1].stack, 2U);
  EXPECT_EQ(pins[1].pinned_bytes, page_bytes - 4000);
}

TEST(PageCells, NothingIsCollectedUnlessAskedFor) {
  PageCells cells(0);
  cells.add_block(0, 0x10, 5, 1, 2000);
  cells.end_page(0, page_bytes, page_bytes - 2000);
  cells.add_free_page(page_bytes, page_bytes);
  std::vector<PageCell> rows;
  std::vector<PathPin> pins;
  cells.finish(0, rows, pins);
  EXPECT_TRUE(rows.empty() && pins.empty());
}

}  // namespace heapwright::analyze
