// SPDX-License-Identifier: MIT
#include "collect/process_ids.hpp"

#include <gtest/gtest.h>

#include "collect/proc_files.hpp"

namespace heapwright::collect {
namespace {

constexpr std::uint32_t own_id = 100;
constexpr std::uint32_t nobodys = 1;  // the kernel begins far above

TEST(ProcessIds, OwnAndUnknownNamespacesTellTheIdsThatAreHere) {
  ProcessIds ids(own_id);
  EXPECT_EQ(ids.here(own_id, 7), 7u);
  EXPECT_EQ(ids.here(0, 7), 7u);
  EXPECT_FALSE(ids.is_elsewhere(0));
  EXPECT_TRUE(ids.is_elsewhere(nobodys));
}

TEST(ProcessIds, AProcessElsewhereThatIsGoneIsNoOtherOne) {
  ProcessIds ids(own_id);
  const std::uint32_t first = ids.here(nobodys, 1);
  EXPECT_GE(first, ProcessIds::first_stand_in);
  EXPECT_NE(ids.here(nobodys, 2), first);
  ids.expire_lookup();
  EXPECT_EQ(ids.here(nobodys, 1), first);
  EXPECT_EQ(ids.here(nobodys, 0), 0u);
}

TEST(ProcFiles, TheInnermostNumberIsOnesOwn) {
  EXPECT_EQ(own_number_in("Name:\tx\nNSpid:\t4711\t12\t3\nNSpgid:\t4711\t12\t3\n"), 3u);
  EXPECT_EQ(own_number_in("Name:\tx\nNSpid:\t4711\n"), 4711u);
  EXPECT_EQ(own_number_in("Name:\tx\nPid:\t4711\n"), 0u);
}

}  // namespace
}  // namespace heapwright::collect
