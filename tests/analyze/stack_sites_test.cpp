// SPDX-License-Identifier: MIT
#include "analyze/stack_sites.hpp"

#include <gtest/gtest.h>

namespace heapwright::analyze {
namespace {

using Numbers = std::vector<std::uint32_t>;

TEST(StackSites, AStackHasItsInnermostFramesPath) {
  // 1: frame 1 < 2: frame 2, without a path < 3: frame 3; 4: frame 2 alone.
  const Numbers parents = {0, 0, 1, 2, 0};
  const Numbers frames = {0, 1, 2, 3, 2};
  const Numbers path_of_frame = {0, 7, 0, 9};
  EXPECT_EQ(innermost_paths(parents, frames, path_of_frame), (Numbers{0, 7, 7, 9, 0}));
}

TEST(StackSites, FramesBeyondHaveNoPath) {
  const Numbers parents = {0, 0, 1};
  const Numbers frames = {0, 1, 0xfffffff0};
  const Numbers path_of_frame = {0, 7};
  EXPECT_EQ(innermost_paths(parents, frames, path_of_frame), (Numbers{0, 7, 7}));
}

TEST(StackSites, AParentThatComesLaterIsNone) {
  const Numbers parents = {5, 2, 9};
  const Numbers frames = {1, 0, 0};
  const Numbers path_of_frame = {0, 7};
  EXPECT_EQ(innermost_paths(parents, frames, path_of_frame), (Numbers{0, 0, 0}));
}

TEST(StackSites, SitesAreNumberedAsTheirPathsComeFirst) {
  const auto numbered = number_sites(Numbers{3, 5, 3, 1, 5});
  EXPECT_EQ(numbered.site_of_stack, (Numbers{0, 1, 0, 2, 1}));
  EXPECT_EQ(numbered.first_stack, (Numbers{0, 1, 3}));
  EXPECT_TRUE(number_sites(Numbers{}).site_of_stack.empty());
}

}  // namespace
}  // namespace heapwright::analyze
