// SPDX-License-Identifier: MIT
#include "figures/group_memory.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace heapwright::figures {
namespace {

class GroupMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "groups-XXXXXX";
    root = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(root); }

  void write(const std::string& file, const std::string& text) const {
    const auto path = std::filesystem::path(root + file);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  std::string root;
};

TEST_F(GroupMemory, IsWhatTheGroupAndThoseAboveItLeave) {
  write("/a/b/memory.max", "1000\n");
  write("/a/b/memory.current", "100\n");
  write("/a/memory.max", "2000\n");
  write("/a/memory.current", "1700\n");
  EXPECT_EQ(group_available_bytes("0::/a/b\n", root), 300u);
  EXPECT_EQ(group_available_bytes("0::/a\n", root), 300u);
  write("/a/memory.max", "max\n");
  EXPECT_EQ(group_available_bytes("0::/a/b\n", root), 900u);
  EXPECT_EQ(group_available_bytes("0::/\n", root), UINT64_MAX);
}

TEST_F(GroupMemory, WhatFilesTakeIsFree) {
  write("/memory.max", "1000\n");
  write("/memory.current", "900\n");
  write("/memory.stat", "anon 200\nfile 700\ninactive_file 500\nactive_file 150\n");
  EXPECT_EQ(group_available_bytes("0::/\n", root), 750u);
}

TEST_F(GroupMemory, IsThatOfVersionOneToo) {
  write("/memory/job/memory.limit_in_bytes", "5000\n");
  write("/memory/job/memory.usage_in_bytes", "4000\n");
  write("/memory/job/memory.stat", "cache 9\ninactive_file 1\ntotal_inactive_file 300\n");
  EXPECT_EQ(group_available_bytes("5:cpu:/x\n4:memory:/job\n0::/\n", root), 1300u);
}

TEST_F(GroupMemory, UsedMoreThanAllowedIsNothing) {
  write("/memory.max", "1000\n");
  write("/memory.current", "2000\n");
  EXPECT_EQ(group_available_bytes("0::/gone/since\n", root), 0u);
  EXPECT_EQ(group_available_bytes("nonsense\n0:\n", root), UINT64_MAX);
}

}  // namespace
}  // namespace heapwright::figures
