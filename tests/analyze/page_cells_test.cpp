// SPDX-License-Identifier: MIT
#include "analyze/page_cells.hpp"

#include <gtest/gtest.h>

namespace heapwright::analyze {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t cell = 4 * page;

}  // namespace

// Two pages of one cell: site 7 has most of the cell, stack 1 most of the first page.
TEST(PageCells, UseBlocksAndTheSiteWithMostOfACell) {
  PageCells cells(cell);
  cells.add_block(0, 0x10, 5, 1, 2000);
  cells.add_block(0, 0x900, 7, 2, 1000);
  cells.end_page(0, page, page - 3000);
  cells.add_block(page, 0x900, 7, 2, 4000);  // the same block goes on
  cells.end_page(page, page, page - 4000);
  cells.add_block(8 * page, 8 * page, 5, 1, page);
  cells.end_page(8 * page, page, 0);
  cells.add_free_page(2 * page, page);
  cells.add_free_page(20 * page, page);
  std::vector<PageCell> rows;
  std::vector<PathPin> pins;
  cells.finish(3, rows, pins);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].scan, 3U);
  EXPECT_EQ(rows[0].address, 0U);
  EXPECT_EQ(rows[0].resident_bytes, 3 * page);
  EXPECT_EQ(rows[0].used_bytes, 7000U);
  EXPECT_EQ(rows[0].blocks, 2U);
  EXPECT_EQ(rows[0].site, 7U);
  EXPECT_EQ(rows[1].address, 2 * cell);
  EXPECT_EQ(rows[1].site, 5U);
  EXPECT_EQ(rows[2].address, 5 * cell);
  EXPECT_EQ(rows[2].blocks, 0U);
  EXPECT_EQ(rows[2].used_bytes, 0U);
  ASSERT_EQ(pins.size(), 2U) << "a full page pins nothing";
  EXPECT_EQ(pins[0].stack, 1U);
  EXPECT_EQ(pins[0].pinned_bytes, page - 3000);
  EXPECT_EQ(pins[1].stack, 2U);
  EXPECT_EQ(pins[1].pinned_bytes, page - 4000);
}

TEST(PageCells, NothingIsCollectedUnlessAskedFor) {
  PageCells cells(0);
  cells.add_block(0, 0x10, 5, 1, 2000);
  cells.end_page(0, page, page - 2000);
  cells.add_free_page(page, page);
  std::vector<PageCell> rows;
  std::vector<PathPin> pins;
  cells.finish(0, rows, pins);
  EXPECT_TRUE(rows.empty() && pins.empty());
}

}  // namespace heapwright::analyze
