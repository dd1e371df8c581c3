// SPDX-License-Identifier: MIT
#include "apply/nearly_all.hpp"

#include <gtest/gtest.h>

namespace heapwright::apply {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

TEST(NearlyAll, TakesLooksInARow) {
  NearlyAll rule;
  for (std::uint32_t i = 1; i < looks_of_nearly_all; ++i) EXPECT_FALSE(rule.look(900 * mib, 1000 * mib));
  EXPECT_FALSE(rule.look(500 * mib, 1000 * mib));
  for (std::uint32_t i = 1; i < looks_of_nearly_all; ++i) EXPECT_FALSE(rule.look(900 * mib, 1000 * mib));
  EXPECT_TRUE(rule.look(900 * mib, 1000 * mib));
}

TEST(NearlyAll, SitesOfLittleMemoryOrOfAPartOfItStay) {
  for (const std::uint64_t small_bytes : {63 * mib, 860 * mib}) {
    NearlyAll rule;
    const std::uint64_t resident_bytes = small_bytes == 63 * mib ? 64 * mib : 1000 * mib;
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(rule.look(small_bytes, resident_bytes));
  }
}

}  // namespace
}  // namespace heapwright::apply
