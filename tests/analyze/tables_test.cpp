// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "analyze/events_table.hpp"
#include "memory_trace.hpp"

namespace heapwright::analyze {
namespace {

TEST(EventTable, HasEveryCallWithItsNumber) {
  auto trace = std::make_unique<MemoryTrace>();
  trace->chunk_events = 2;
  trace->malloc(0, 1600, 0x1000, 100, 3);
  trace->add(1, {trace::EventKind::aligned_alloc_, 1760, 16, 64, 64, 0x2000, 0, 4, 6});
  trace->free(0, 3200, 0x1000);
  trace->realloc(0, 4800, 0, 0x3000, 10, 5);
  trace->seal();
  EventTable table(std::move(trace));
  EventColumns columns;
  std::vector<std::uint64_t> sequences;
  std::size_t rows = 0;
  while (table.next(columns)) {
    for (std::size_t row = 0; row < columns.count(); ++row, ++rows) {
      if (columns.thread[row] == 0) {
        sequences.push_back(columns.sequence[row]);
        EXPECT_EQ(columns.alignment[row], 0U);
      } else {
        EXPECT_EQ(columns.alignment[row], 64U);
        EXPECT_EQ(columns.stack[row], 4U);
      }
    }
  }
  EXPECT_EQ(rows, 4U);
  EXPECT_EQ(sequences, (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_EQ(columns.count(), 0U);
}

TEST(BlockTable, HasOneRowPerBlock) {
  auto trace = std::make_unique<MemoryTrace>();
  trace->malloc(0, 1600, 0x1000, 100, 3, 32);
  trace->malloc(0, 3200, 0x2000, 7, 4);
  trace->free(0, 4800, 0x2000);  // temporary
  trace->realloc(1, 6400, 0x1000, 0x1000, 200, 5);
  trace->free(0, 8000, 0x9000);  // unknown: no row
  trace->seal();
  BlockTable table(std::move(trace));
  BlockColumns columns;
  ASSERT_TRUE(table.next(columns));
  ASSERT_EQ(columns.count(), 3U);
  EXPECT_EQ(columns.address[0], 0x2000U);
  EXPECT_EQ(columns.is_temporary[0], 1U);
  EXPECT_EQ(columns.end_ns[0], 4800U);
  EXPECT_EQ(columns.free_thread[0], 0U);
  EXPECT_EQ(columns.size[1], 100U);
  EXPECT_EQ(columns.usable[1], 108U);
  EXPECT_EQ(columns.begin_ns[1], 1600U);
  EXPECT_EQ(columns.is_freed[1], 1U);
  EXPECT_EQ(columns.free_thread[1], 1U);
  EXPECT_EQ(columns.free_kind[1], static_cast<std::uint8_t>(trace::EventKind::realloc_));
  EXPECT_EQ(columns.free_stack[1], 5U);
  EXPECT_EQ(columns.is_temporary[1], 0U);
  EXPECT_EQ(columns.size[2], 200U);
  EXPECT_EQ(columns.thread[2], 1U);
  EXPECT_EQ(columns.is_freed[2], 0U);
  EXPECT_FALSE(table.next(columns));
}

TEST(BlockTable, ComesInPartsWhenLong) {
  auto trace = std::make_unique<MemoryTrace>();
  for (std::uint64_t block = 0; block < 100'000; ++block) {
    trace->malloc(0, block * 160, 0x10000 + block * 32, block % 100);
  }
  trace->seal();
  BlockTable table(std::move(trace));
  BlockColumns columns;
  std::size_t rows = 0;
  std::size_t parts = 0;
  while (table.next(columns)) {
    rows += columns.count();
    ++parts;
  }
  EXPECT_EQ(rows, 100'000U);
  EXPECT_GT(parts, 1U);
}

}  // namespace
}  // namespace heapwright::analyze
