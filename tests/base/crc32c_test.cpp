// SPDX-License-Identifier: MIT
#include "base/crc32c.hpp"

#include <gtest/gtest.h>

#include <string>

namespace heapwright::base {

// The check value of the CRC catalogue and two vectors of RFC 3720, B.4.
TEST(Crc32c, MatchesPublishedValues) {
  EXPECT_EQ(crc32c("123456789", 9), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0').data(), 32), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff').data(), 32), 0x62a8ab43U);
}

TEST(Crc32c, InstructionAndTableAgree) {
  std::string text;
  for (int length = 0; length < 70; ++length) {
    text.push_back(static_cast<char>(length * 37));
    EXPECT_EQ(crc32c(text.data(), text.size()), crc32c_by_table(text.data(), text.size())) << length;
  }
}

TEST(Crc32c, ContinuesOverPieces) {
  const std::string text = "a chunk header and its payload";
  const std::uint32_t first = crc32c(text.data(), 11);
  EXPECT_EQ(crc32c(text.data() + 11, text.size() - 11, first), crc32c(text.data(), text.size()));
  EXPECT_EQ(crc32c_by_table(text.data() + 11, text.size() - 11, first), crc32c(text.data(), text.size()));
}

}  // namespace heapwright::base
