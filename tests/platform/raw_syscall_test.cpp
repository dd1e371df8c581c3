// SPDX-License-Identifier: MIT
#include "platform/raw_syscall.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace heapwright::platform {
namespace {

TEST(RawSyscall, AnErrorIsTheAnswerAndErrnoIsKept) {
  errno = 77;
  EXPECT_EQ(raw_syscall(SYS_close, -1), -EBADF);
  EXPECT_EQ(errno, 77);
  EXPECT_EQ(raw_syscall(SYS_getpid), getpid());
}

// Each decides: the file by its number, its second half by the last one.
TEST(RawSyscall, AllSixArgumentsArrive) {
  constexpr long page_bytes = 65536;
  const int file = memfd_create("arguments", 0);
  ASSERT_GE(file, 0);
  ASSERT_EQ(ftruncate(file, 2 * page_bytes), 0);
  ASSERT_EQ(pwrite(file, "x", 1, page_bytes), 1);
  const long answer = raw_syscall(SYS_mmap, 0, page_bytes, PROT_READ, MAP_PRIVATE, file, page_bytes);
  ASSERT_GT(answer, 0);
  EXPECT_EQ(*reinterpret_cast<const char*>(answer), 'x');
  EXPECT_EQ(raw_syscall(SYS_munmap, answer, page_bytes), 0);
  close(file);
}

}  // namespace
}  // namespace heapwright::platform
