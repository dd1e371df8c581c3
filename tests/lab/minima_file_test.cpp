// SPDX-License-Identifier: MIT
#include "lab/minima_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

namespace heapwright::lab {
namespace {

std::vector<std::uint32_t> fold(const std::string& path, std::initializer_list<std::uint32_t> run) {
  figures::MappedArray<std::uint32_t> times(run.size());
  std::copy(run.begin(), run.end(), times.begin());
  fold_minima(path, times);
  return {times.begin(), times.end()};
}

class MinimaFile : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove(path_); }
  void TearDown() override { std::filesystem::remove(path_); }
  std::string path_ = testing::TempDir() + "heapwright_minima_" +
                      testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(MinimaFile, KeepsTheLeastOfEachOperation) {
  EXPECT_EQ(fold(path_, {5, 90, 7}), (std::vector<std::uint32_t>{5, 90, 7}));
  EXPECT_EQ(fold(path_, {50, 9, 7}), (std::vector<std::uint32_t>{5, 9, 7}));
  EXPECT_EQ(fold(path_, {6, 10, 1}), (std::vector<std::uint32_t>{5, 9, 1}));
}

TEST_F(MinimaFile, RefusesAnotherLength) {
  fold(path_, {1, 2, 3});
  EXPECT_EXIT(fold(path_, {1, 2}), testing::ExitedWithCode(2), "another number of operations");
}

TEST_F(MinimaFile, RefusesAPathItCannotWrite) {
  EXPECT_EXIT(fold("/no/such/folder/file", {1}), testing::ExitedWithCode(2), "cannot be written");
}

}  // namespace
}  // namespace heapwright::lab
