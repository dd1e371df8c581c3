// SPDX-License-Identifier: MIT
#include "attach/target_maps.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace heapwright::attach {
namespace {

constexpr std::uint64_t mib = 1 << 20;

Mapping mapping(std::uint64_t begin, std::uint64_t end, const char* name = "") {
  return {begin, end, "r-xp", name};
}

TEST(Maps, LinesAreTakenApart) {
  const auto maps = parse_maps(
      "55d000000000-55d000001000 r-xp 00000000 08:01 123  /usr/bin/name with blanks\n"
      "7f0000000000-7f0000021000 rw-p 00000000 00:00 0 \n"
      "no line of maps\n");
  ASSERT_EQ(maps.size(), 2U);
  EXPECT_EQ(maps[0].begin, 0x55d000000000U);
  EXPECT_EQ(maps[0].permissions, "r-xp");
  EXPECT_EQ(maps[0].name, "/usr/bin/name with blanks");
  EXPECT_EQ(maps[1].end, 0x7f0000021000U);
  EXPECT_EQ(maps[1].name, "");
}

TEST(Maps, AnAddressIsFoundInItsMapping) {
  int here = 0;
  const auto maps = read_maps(getpid());
  const Mapping* const found = find_mapping(maps, reinterpret_cast<std::uint64_t>(&here));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->name, "[stack]");
  EXPECT_EQ(find_mapping(maps, 0x1000), nullptr);
}

TEST(Room, IsTheNearestGapWithAPageOnEachSide) {
  const std::vector<Mapping> maps{mapping(64 * mib, 65 * mib), mapping(80 * mib, 90 * mib),
                                  mapping(92 * mib, 93 * mib), mapping(200 * mib, 201 * mib)};
  EXPECT_EQ(find_room(maps, 5 * mib, 80 * mib, 86 * mib), 80 * mib - 4096 - 5 * mib);
  EXPECT_EQ(find_room(maps, mib, 85 * mib, 86 * mib), 90 * mib + 4096);
  EXPECT_EQ(find_room(maps, 2 * mib, 92 * mib, 92 * mib), 93 * mib + 4096);
}

TEST(Room, LeavesTheHeapAndTheStackTheirs) {
  const std::vector<Mapping> maps{mapping(64 * mib, 65 * mib, "[heap]"),
                                  mapping(80 * mib, 81 * mib, "[stack]")};
  EXPECT_EQ(find_room(maps, mib, 64 * mib, 65 * mib), std::nullopt);
}

// A static program without mappings of its own.
TEST(Room, MayBeBehindWhatTheHeapNeeds) {
  constexpr std::uint64_t gib = 1024 * mib;
  std::vector<Mapping> maps{mapping(4 * mib, 5 * mib), mapping(5 * mib, 6 * mib, "[heap]"),
                            mapping(100 * gib, 101 * gib, "[stack]")};
  EXPECT_EQ(find_room(maps, mib, 4 * mib, 5 * mib), 6 * mib + gib);
  EXPECT_EQ(find_room(maps, mib, 4 * mib, 3 * gib), std::nullopt);
  maps.back() = mapping(2 * gib + 7 * mib, 3 * gib, "[stack]");
  EXPECT_EQ(find_room(maps, mib, 4 * mib, 5 * mib), 6 * mib + gib);
  EXPECT_EQ(find_room(maps, 2 * mib, 4 * mib, 5 * mib), std::nullopt) << "the stack would have less";
}

TEST(Room, IsWithinReachOfAll) {
  constexpr std::uint64_t gib = 1024 * mib;
  const std::vector<Mapping> maps{mapping(gib, gib + mib), mapping(9 * gib, 9 * gib + mib),
                                  mapping(9 * gib + 2 * mib, 9 * gib + 3 * mib)};
  EXPECT_EQ(find_room(maps, 4 * mib, gib, gib), gib + mib + 4096);
  EXPECT_EQ(find_room(maps, 4 * mib, 9 * gib, 9 * gib + 2 * mib), 9 * gib - 4096 - 4 * mib);
  EXPECT_EQ(find_room(maps, 4 * mib, gib, 9 * gib), std::nullopt);
}

}  // namespace
}  // namespace heapwright::attach
