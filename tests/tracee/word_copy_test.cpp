// SPDX-License-Identifier: MIT
// Words of this process's own memory, beside a slow look at each.
#include "tracee/word_copy.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <utility>
#include <vector>

namespace heapwright::tracee {
namespace {

using Range = WordCopy::Range;
using Words = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // address, word

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t plenty_bytes = std::uint64_t{1} << 30U;
constexpr Range wanted{0x5000'0000'0000, 0x7000'0000'0000};

class WordCopyTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  // More than one reader takes at a time, and more than one reader's share.
  static constexpr std::uint64_t bytes_ = std::uint64_t{40} << 20U;

  void SetUp() override {
    void* const made = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(made, MAP_FAILED);
    memory_ = static_cast<std::byte*>(made);
    begin_ = reinterpret_cast<std::uint64_t>(made);
  }
  void TearDown() override { munmap(memory_, bytes_); }

  void plant(std::uint64_t at, std::uint64_t word) { std::memcpy(memory_ + at, &word, sizeof word); }

  // Words at random places, some where reads and pieces meet.
  void plant_many(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 20'000; ++i) {
      std::uint64_t at = random() % (bytes_ - 16);
      if (i % 3 == 0) at = std::max<std::uint64_t>(16, at / 65536 * 65536) - random() % 16;
      if (GetParam() != 1) at &= ~std::uint64_t{7};
      plant(at, wanted.begin + random() % (wanted.end - wanted.begin));
    }
    plant(bytes_ - 8, wanted.end - 1);
    plant(bytes_ - 16, wanted.end);
    plant(0, wanted.begin);
  }

  Words slow(std::uint64_t from, std::uint64_t to) const {
    Words found;
    for (std::uint64_t at = from; at + 8 <= to; at += GetParam()) {
      std::uint64_t word = 0;
      std::memcpy(&word, memory_ + at, sizeof word);
      if (word >= wanted.begin && word < wanted.end) found.emplace_back(begin_ + at, word);
    }
    return found;
  }

  static Words in(const WordCopy& copy, std::uint64_t begin, std::uint64_t end) {
    Words found;
    copy.visit(begin, end, [&](std::uint64_t at, std::uint64_t word) { found.emplace_back(at, word); });
    return found;
  }

  WordCopy::Wish wish() const { return {wanted, GetParam()}; }

  std::byte* memory_ = nullptr;
  std::uint64_t begin_ = 0;
};

TEST_P(WordCopyTest, HasEachWordOfAnyRange) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  plant_many(seed);
  WordCopy copy(0, plenty_bytes);
  const std::vector<Range> memory{{begin_, begin_ + bytes_}};
  ASSERT_TRUE(copy.take(getpid(), memory, wish()));
  const Words whole = slow(0, bytes_);
  EXPECT_EQ(in(copy, begin_, begin_ + bytes_), whole);
  EXPECT_EQ(copy.words(), whole.size());
  std::mt19937_64 random(seed);
  for (int i = 0; i < 2'000; ++i) {
    const std::uint64_t from = random() % bytes_ / GetParam() * GetParam();
    const std::uint64_t to = std::min(bytes_, from + random() % 200'000);
    ASSERT_EQ(in(copy, begin_ + from, begin_ + to), slow(from, to)) << from << " to " << to;
  }
}

TEST_P(WordCopyTest, LeavesOutWhatIsNotInItsMemoryOrIsGone) {
  plant(8, wanted.begin);
  plant(2 * page_bytes, wanted.begin);
  plant(3 * page_bytes, wanted.begin);
  plant(7 * page_bytes - 8, wanted.begin);
  plant(7 * page_bytes, wanted.begin);
  munmap(memory_ + 2 * page_bytes, page_bytes);
  WordCopy copy(0, plenty_bytes);
  const std::vector<Range> memory{{begin_ + page_bytes, begin_ + 7 * page_bytes}};
  ASSERT_TRUE(copy.take(getpid(), memory, wish()));
  EXPECT_EQ(in(copy, begin_, begin_ + bytes_),
            (Words{{begin_ + 3 * page_bytes, wanted.begin}, {begin_ + 7 * page_bytes - 8, wanted.begin}}));
}

// Some pages change between two looks; others go away.
TEST_P(WordCopyTest, OnlyWhatChangedIsReadAgain) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  plant_many(seed);
  WordCopy copy(0, plenty_bytes);
  ASSERT_TRUE(copy.take(getpid(), std::vector<Range>{{begin_, begin_ + bytes_}}, wish()));
  std::vector<Range> same;
  std::vector<Range> changed;
  Words expected;
  for (std::uint64_t at = 0; at < bytes_;) {
    const std::uint64_t end = std::min(bytes_, at + page_bytes * (1 + random() % 40));
    const Range range{begin_ + at, begin_ + end};
    const std::uint64_t what = random() % 3;
    if (what == 0) same.push_back(range);
    if (what == 1) {
      std::memset(memory_ + at, 0, end - at);
      plant(at, wanted.begin);
      plant(end - 8, wanted.begin);
      changed.push_back(range);
    }
    if (what != 2) {
      const Words words = slow(at, end);
      expected.insert(expected.end(), words.begin(), words.end());
    }
    at = end;
  }
  copy.keep_only(same);
  ASSERT_TRUE(copy.take(getpid(), changed, wish()));
  EXPECT_EQ(in(copy, begin_, begin_ + bytes_), expected);
  for (const Range& range : changed) {
    ASSERT_EQ(in(copy, range.begin, range.end), slow(range.begin - begin_, range.end - begin_));
  }
}

TEST_P(WordCopyTest, WhatIsForgottenGivesItsRoomBack) {
  for (std::uint64_t at = 0; at + 8 <= bytes_; at += 8) plant(at, wanted.begin);
  const std::vector<Range> memory{{begin_, begin_ + bytes_}};
  WordCopy copy(0, std::uint64_t{80} << 20U);  // for one and a half of them
  for (int time = 0; time < 3; ++time) {
    ASSERT_TRUE(copy.take(getpid(), memory, wish())) << time;
    EXPECT_EQ(copy.words(), bytes_ / 8);
    copy.keep_only({});
    EXPECT_EQ(copy.words(), 0U);
  }
}

TEST_P(WordCopyTest, SaysWhenThereIsNoRoom) {
  for (std::uint64_t at = 0; at + 8 <= bytes_; at += 8) plant(at, wanted.begin);
  const std::vector<Range> memory{{begin_, begin_ + bytes_}};
  WordCopy small(0, std::uint64_t{16} << 20U);
  EXPECT_FALSE(small.take(getpid(), memory, wish()));
  EXPECT_FALSE(WordCopy(0, 0).take(getpid(), memory, wish()));
  WordCopy large(0, plenty_bytes);
  EXPECT_TRUE(large.take(getpid(), memory, wish()));
  EXPECT_EQ(large.words(), bytes_ / 8);
}

TEST_P(WordCopyTest, ASampleSaysWhatItTakes) {
  constexpr std::uint64_t found_bytes = 10;  // a word and its place
  for (std::uint64_t at = 0; at + 8 <= bytes_; at += 80) plant(at, wanted.begin);
  const std::uint64_t whole = slow(0, bytes_).size() * found_bytes;
  const std::uint64_t sampled =
      WordCopy::expected_bytes(getpid(), std::vector<Range>{{begin_, begin_ + bytes_}}, wish());
  EXPECT_NEAR(static_cast<double>(sampled), static_cast<double>(whole), 0.02 * static_cast<double>(whole));
  // Of many small ranges some are looked at.
  std::vector<Range> parts;
  for (std::uint64_t at = 0; at < bytes_; at += 2 * page_bytes) {
    parts.push_back({begin_ + at, begin_ + at + page_bytes});
  }
  const std::uint64_t of_parts = WordCopy::expected_bytes(getpid(), parts, wish());
  EXPECT_NEAR(static_cast<double>(of_parts), static_cast<double>(whole) / 2,
              0.1 * static_cast<double>(whole));
}

INSTANTIATE_TEST_SUITE_P(Step, WordCopyTest, ::testing::Values(1, 8));

}  // namespace
}  // namespace heapwright::tracee
