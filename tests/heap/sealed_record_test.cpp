// SPDX-License-Identifier: MIT
#include "heap/slabs/sealed_record.hpp"

#include <gtest/gtest.h>

namespace heapwright::heap {
namespace {

constexpr std::size_t usable_bytes = 224;
alignas(8192) char sealed_place[8192];

// How many of the 255 changes of one byte of the record leave one that could be the block's.
int unnoticed_changes(SealedRecord record, int byte) {
  const std::uint64_t value = record.value();
  int unnoticed = 0;
  for (std::uint64_t change = 1; change < 256; ++change) {
    record.write(value ^ change << 8 * byte);
    unnoticed += record.is_intact(record.value()) ? 1 : 0;
  }
  record.write(value);
  return unnoticed;
}

TEST(SealedRecord, SaysWhatWasWritten) {
  for (const std::size_t alignment : {16U, 64U, 4096U}) {
    SealedRecord record(sealed_place + 4096, usable_bytes);
    record.write(record_of(100, alignment) | freed_bit);
    EXPECT_TRUE(record.is_freed());
    EXPECT_EQ(bytes_in(record.value()), 100U);
    EXPECT_EQ(alignment_in(record.value()), alignment);
  }
  EXPECT_EQ(alignment_in(record_of(std::size_t{1} << 40, std::size_t{1} << 40)), std::size_t{1} << 40);
  EXPECT_EQ(bytes_in(record_of(std::size_t{1} << 40, std::size_t{1} << 40)), std::size_t{1} << 40);
}

TEST(SealedRecord, AChangeOfOneByteIsNoticed) {
  SealedRecord record(sealed_place + 64, usable_bytes);
  record.write(record_of(100, default_alignment));
  for (const int byte : {1, 2, 3, 4, 5}) EXPECT_EQ(unnoticed_changes(record, byte), 0) << byte;
  EXPECT_EQ(unnoticed_changes(record, 6), 2);  // an alignment of 32, and one of 64
  EXPECT_EQ(unnoticed_changes(record, 7), 1);  // that it was freed
}

}  // namespace
}  // namespace heapwright::heap
