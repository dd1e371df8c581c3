// SPDX-License-Identifier: MIT
#include "heap/slabs/fill.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "heap/slabs/sealed_record.hpp"

namespace heapwright::heap {
namespace {

constexpr std::size_t guarded_bytes = 4096;

// A page between two that cannot be reached: a look beside a block that lies at either end is fatal.
class Fill : public testing::TestWithParam<std::size_t> {
 protected:
  Fill() {
    void* pages = mmap(nullptr, 3 * guarded_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    begin_ = static_cast<char*>(pages);
    EXPECT_EQ(mprotect(begin_ + guarded_bytes, guarded_bytes, PROT_READ | PROT_WRITE), 0);
  }
  ~Fill() override { munmap(begin_, 3 * guarded_bytes); }
  Fill(const Fill&) = delete;
  Fill& operator=(const Fill&) = delete;

  // Blocks of that many bytes, the record included, at both ends of the page.
  std::vector<char*> blocks() const {
    return {begin_ + guarded_bytes, begin_ + 2 * guarded_bytes - GetParam()};
  }

 private:
  char* begin_;
};

// Changed one at a time: the bytes of a block at which `is_whole` notices it.
template <typename Predicate>
std::vector<std::size_t> noticed(char* block, std::size_t usable, Predicate is_whole) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < usable; ++i) {
    block[i] = static_cast<char>(block[i] ^ 0x10);
    if (!is_whole()) found.push_back(i);
    block[i] = static_cast<char>(block[i] ^ 0x10);
  }
  return found;
}

std::vector<std::size_t> all_from(std::size_t from, std::size_t to) {
  std::vector<std::size_t> all;
  for (std::size_t i = from; i < to; ++i) all.push_back(i);
  return all;
}

TEST_P(Fill, EachByteOfTheSlackIsLookedAtAndNoOther) {
  const std::size_t room = GetParam() - record_bytes;
  for (char* block : blocks()) {
    for (std::size_t bytes = 0; bytes <= room; ++bytes) {
      std::memset(block, 0, GetParam());
      fill_slack(block, bytes, room);
      const auto is_whole = [=] { return is_slack_whole(block, bytes, room); };
      ASSERT_TRUE(is_whole()) << bytes;
      ASSERT_EQ(noticed(block, GetParam(), is_whole), all_from(bytes, room)) << bytes;
    }
  }
}

TEST_P(Fill, OnlyTheSlackIsFilled) {
  const std::size_t room = GetParam() - record_bytes;
  for (char* block : blocks()) {
    for (std::size_t bytes = 0; bytes <= room; ++bytes) {
      std::memset(block, 0, GetParam());
      fill_slack(block, bytes, room);
      ASSERT_TRUE(is_filled(block, bytes, 0)) << bytes;
      ASSERT_TRUE(is_filled(block + bytes, room - bytes, slack_fill)) << bytes;
      ASSERT_TRUE(is_filled(block + room, record_bytes, 0)) << bytes;
    }
  }
}

TEST_P(Fill, EachByteOfAFreeBlockButItsLinkAndItsRecordIsLookedAt) {
  for (char* block : blocks()) {
    std::memset(block, 0, GetParam());
    const auto is_zero = [=, this] { return is_zero_behind_link(block, GetParam()); };
    ASSERT_TRUE(is_zero());
    const std::size_t room = GetParam() - record_bytes;
    ASSERT_EQ(noticed(block, GetParam(), is_zero), all_from(std::min<std::size_t>(8, room), room));
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, Fill, testing::Values(16, 32, 48, 64, 96, 112, 256, 272));

}  // namespace
}  // namespace heapwright::heap
