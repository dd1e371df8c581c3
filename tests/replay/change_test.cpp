// SPDX-License-Identifier: MIT
#include "replay/change.hpp"

#include <gtest/gtest.h>

#include <string>

#include "trace/damage.hpp"

namespace heapwright::replay {
namespace {

std::string refusal_of(const char* text) {
  try {
    parts_of(text);
  } catch (const trace::TraceError& error) {
    return error.what();
  }
  return "";
}

TEST(Changes, AreReadFromOneWord) {
  const auto parts = parts_of("arena+small_vector:64+reserve");
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].change, Change::arena);
  EXPECT_EQ(parts[1].change, Change::small_vector);
  EXPECT_EQ(parts[1].bytes, 64u);
  EXPECT_EQ(parts[2].change, Change::reserve);
  EXPECT_NE(refusal_of("arenas").find("no change arenas; there are: arena, node_pool"), std::string::npos);
  EXPECT_NE(refusal_of("").find("there are"), std::string::npos);
  EXPECT_NE(refusal_of("arena:8").find("small_vector alone"), std::string::npos);
  EXPECT_NE(refusal_of("arena+arena+arena+arena+arena").find("at most 4"), std::string::npos);
  for (const char* wrong : {"small_vector", "small_vector:", "small_vector:0", "small_vector:5000",
                            "small_vector:8x", "small_vector:99999999999"}) {
    EXPECT_NE(refusal_of(wrong).find("1 to 4096"), std::string::npos) << wrong;
  }
}

}  // namespace
}  // namespace heapwright::replay
