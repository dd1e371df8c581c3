// SPDX-License-Identifier: MIT
#include "counters/collected.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace heapwright::counters {
namespace {

class Collected : public testing::Test {
 protected:
  PageName name_ = page_name(getpid(), ".pipe");
  std::uint32_t own_ = geteuid();

  void TearDown() override { remove_page(name_); }
};

TEST_F(Collected, HasItsUsersPipe) {
  EXPECT_STREQ(pipe_of(0).text, "/dev/shm/heapwright-root.serve");
  EXPECT_STREQ(pipe_of(1000).text, "/dev/shm/heapwright-1000.serve");
}

TEST_F(Collected, IsSoWhileSomebodyReads) {
  EXPECT_FALSE(has_reader(name_, own_)) << "there is none";
  ASSERT_EQ(mkfifo(name_.text, 0600), 0);
  EXPECT_FALSE(has_reader(name_, own_)) << "left by a server that was killed";
  const int reader = open(name_.text, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  EXPECT_TRUE(has_reader(name_, own_));
  EXPECT_FALSE(has_reader(name_, own_ + 1)) << "somebody else's";
  close(reader);
  EXPECT_FALSE(has_reader(name_, own_));
}

TEST_F(Collected, IsNotSoByAnotherFile) {
  std::ofstream(name_.text) << "file";
  EXPECT_FALSE(has_reader(name_, own_));
  remove_page(name_);
  ASSERT_EQ(symlink("/dev/null", name_.text), 0);
  EXPECT_FALSE(has_reader(name_, own_));
}

TEST_F(Collected, LeavesNoDescriptor) {
  const int before = dup(0);
  close(before);
  std::ofstream(name_.text) << "file";
  for (int i = 0; i < 3; ++i) has_reader(name_, own_);
  const int after = dup(0);
  close(after);
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace heapwright::counters
