// SPDX-License-Identifier: MIT
#include "base/varint.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace heapwright::base {

TEST(Varint, EveryLengthComesBack) {
  for (unsigned bits = 0; bits <= 64; ++bits) {
    const std::uint64_t value = bits == 64 ? UINT64_MAX : (std::uint64_t{1} << bits) - 1;
    std::uint8_t bytes[max_varint_bytes];
    const auto length = static_cast<std::size_t>(put_varint(bytes, value) - bytes);
    EXPECT_EQ(length, bits == 0 ? 1 : (bits + 6) / 7);
    ByteSource source(bytes, length);
    EXPECT_EQ(source.varint(), value);
    EXPECT_EQ(source.remaining(), 0U);
    EXPECT_FALSE(source.has_failed());
  }
}

TEST(Varint, SignedValuesFoldAndUnfold) {
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1}, INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(zigzag_decode(zigzag_encode(value)), value);
  }
  EXPECT_EQ(zigzag_encode(-1), 1U);
  EXPECT_EQ(zigzag_encode(1), 2U);
}

TEST(ByteSource, CutValueFailsForGood) {
  const std::uint8_t bytes[] = {0x80, 0x80};
  ByteSource source(bytes, sizeof bytes);
  EXPECT_EQ(source.varint(), 0U);
  EXPECT_TRUE(source.has_failed());
  EXPECT_EQ(source.varint(), 0U);
  EXPECT_EQ(source.byte(), 0U);
}

TEST(ByteSource, ValueBeyond64BitsFails) {
  const std::vector<std::uint8_t> too_long(11, 0xff);
  ByteSource source(too_long.data(), too_long.size());
  source.varint();
  EXPECT_TRUE(source.has_failed());
  std::vector<std::uint8_t> too_large(9, 0xff);
  too_large.push_back(2);
  ByteSource other(too_large.data(), too_large.size());
  other.varint();
  EXPECT_TRUE(other.has_failed());
}

TEST(ByteSource, TextLongerThanTheRestFails) {
  const std::uint8_t bytes[] = {3, 'a', 'b'};
  ByteSource source(bytes, sizeof bytes);
  EXPECT_EQ(source.text(), "");
  EXPECT_TRUE(source.has_failed());
}

}  // namespace heapwright::base
