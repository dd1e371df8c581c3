// SPDX-License-Identifier: MIT
#include "counters/page_file.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

namespace heapwright::counters {
namespace {

TEST(PageFile, IsNamedAfterItsProcess) {
  EXPECT_STREQ(page_name(1).text, "/dev/shm/heapwright-1");
  EXPECT_STREQ(page_name(4194304, ".calls.1000").text, "/dev/shm/heapwright-4194304.calls.1000");
}

TEST(PageFile, IsForItsOwnerAloneAndNeverAnotherFile) {
  const PageName name = page_name(getpid(), ".test");
  remove_page(name);
  const long file = create_page(name);
  ASSERT_GE(file, 0);
  struct stat status {};
  ASSERT_EQ(fstat(static_cast<int>(file), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_EQ(create_page(name), -EEXIST);
  close(static_cast<int>(file));
  EXPECT_EQ(remove_page(name), 0);
}

TEST(PageFile, HasANumberWhereAnotherFileIsThere) {
  PageName names[12];
  for (int i = 0; i < 12; ++i) {
    const long file = create_page_of(getpid(), ".test", names[i]);
    ASSERT_GE(file, 0);
    close(static_cast<int>(file));
  }
  const std::string plain = page_name(getpid(), ".test").text;
  EXPECT_EQ(names[0].text, plain);
  EXPECT_EQ(names[1].text, plain + ".1");
  EXPECT_EQ(names[10].text, plain + ".10");
  EXPECT_STREQ(numbered_name(1, ".calls", 1000).text, "/dev/shm/heapwright-1.calls.1000");
  for (const PageName& name : names) EXPECT_EQ(remove_page(name), 0);
}

// The kernel's other account of it, by a name that holds what delimits the fields.
TEST(PageFile, TellsWhenTheProcessStartedWhateverItIsCalled) {
  char before[16];
  prctl(PR_GET_NAME, before);
  const std::uint64_t plain = process_start_ticks();
  prctl(PR_SET_NAME, "a) R 1 (b) 2");
  EXPECT_EQ(process_start_ticks(), plain);
  prctl(PR_SET_NAME, before);
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string field;
  for (int number = 3; number <= 22; ++number) fields >> field;
  EXPECT_EQ(std::to_string(plain), field);
}

}  // namespace
}  // namespace heapwright::counters
