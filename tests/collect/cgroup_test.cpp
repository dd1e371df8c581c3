// SPDX-License-Identifier: MIT
#include "collect/cgroup.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace heapwright::collect {
namespace {

namespace fs = std::filesystem;

struct Hierarchy {
  // Tests run side by side, in a process each.
  std::string path = fs::path(::testing::TempDir()) / ("cgroups-" + std::to_string(getpid()));
  ~Hierarchy() { fs::remove_all(path); }
  void write(const fs::path& file, const char* text) const {
    fs::create_directories((path / file).parent_path());
    std::ofstream(path / file) << text;
  }
};

TEST(Cgroup, TheSmallestLimitOfTheCgroupsAboveCounts) {
  const Hierarchy root;
  root.write("memory.max", "max\n");
  root.write("a.slice/memory.max", "4096000\n");
  root.write("a.slice/b.service/memory.max", "8192000\n");
  root.write("memory/c/memory.limit_in_bytes", "1024000\n");
  root.write("memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(cgroup_memory_limit("0::/a.slice/b.service\n", root.path), 4096000U);
  EXPECT_EQ(cgroup_memory_limit("0::/\n", root.path), std::nullopt);
  EXPECT_EQ(cgroup_memory_limit("9:cpu:/c\n4:memory:/c\n0::/\n", root.path), 1024000U);
  EXPECT_EQ(cgroup_memory_limit("4:memory:/\n", root.path), std::nullopt);
  EXPECT_EQ(cgroup_memory_limit("0::/elsewhere\n", root.path), std::nullopt);
  EXPECT_EQ(cgroup_memory_limit("", root.path), std::nullopt);
}

TEST(Cgroup, TheChargeIsThatOfTheOwnOne) {
  const Hierarchy root;
  root.write("a.slice/memory.current", "1\n");
  root.write("a.slice/b.service/memory.current", "2\n");
  root.write("memory/c/memory.usage_in_bytes", "3\n");
  EXPECT_EQ(cgroup_charge_file("0::/a.slice/b.service\n", root.path),
            root.path + "/a.slice/b.service/memory.current");
  EXPECT_EQ(cgroup_charge_file("9:cpu:/c\n4:memory:/c\n0::/\n", root.path),
            root.path + "/memory/c/memory.usage_in_bytes");
  EXPECT_EQ(cgroup_charge_file("0::/elsewhere\n", root.path), "");
  EXPECT_EQ(cgroup_charge_file("", root.path), "");
}

TEST(Cgroup, InAContainerTheHierarchyBeginsAtItsOwn) {
  const Hierarchy root;
  root.write("memory.current", "1\n");
  EXPECT_EQ(cgroup_charge_file("0::/docker/1234\n", root.path), root.path + "/memory.current");
}

}  // namespace
}  // namespace heapwright::collect
