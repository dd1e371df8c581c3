// SPDX-License-Identifier: MIT
// Every interleaving of frees by two threads with an owner that watches,
// takes and unwatches. Each step is one atomic operation on the word, as in
// the heap; the model's truth is kept beside it.
#include "heap/slabs/remote_word.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace heapwright::heap {
namespace {

enum class Step { free_block, watch, unwatch, take };

struct Model {
  RemoteWord word{0};
  std::uint32_t freed = 0;   // blocks pushed so far
  std::uint32_t taken = 0;   // blocks that the owner got
  int notices = 0;           // duties to tell that arose
  bool is_watching = false;  // the owner armed it and has had no answer

  void run(Step step, std::size_t offset) {
    switch (step) {
      case Step::free_block: {
        const RemoteWord pushed = word.pushed(offset);
        if (word.is_armed() && !pushed.is_armed()) ++notices;
        word = pushed;
        ++freed;
        break;
      }
      case Step::watch:
        if (word.count() < watched_count && !is_watching) {
          word = word.armed_for(watched_count);
          is_watching = true;
        }
        break;
      case Step::unwatch:
        if (is_watching && word.is_armed()) {
          word.bits &= ~RemoteWord::armed_bit;
          is_watching = false;
        }
        break;
      case Step::take:
        taken += word.count();
        word = word.emptied();
        break;
    }
  }

  static constexpr std::uint32_t watched_count = 2;
};

void check(const Model& model) {
  ASSERT_EQ(model.taken + model.word.count(), model.freed);
  ASSERT_EQ(model.word.has_blocks(), model.word.count() != 0);
  // Armed exactly while a watch stands and nobody has the duty to tell.
  ASSERT_LE(model.notices, 1);
  ASSERT_EQ(model.word.is_armed(), model.is_watching && model.notices == 0);
  if (model.word.is_armed()) {
    ASSERT_LT(model.word.count(), model.word.notify_at());
  }
}

using Script = std::vector<Step>;

// All orders in which the scripts' steps can happen.
void interleave(const std::vector<Script>& scripts, std::vector<std::size_t> at, const Model& model,
                int& runs) {
  check(model);
  if (testing::Test::HasFatalFailure()) return;
  bool is_done = true;
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    if (at[i] == scripts[i].size()) continue;
    is_done = false;
    Model next = model;
    next.run(scripts[i][at[i]], i * 64);
    std::vector<std::size_t> moved = at;
    ++moved[i];
    interleave(scripts, moved, next, runs);
  }
  runs += is_done ? 1 : 0;
}

TEST(RemoteWord, EveryInterleavingKeepsBlocksAndTellsOnce) {
  const Script frees(3, Step::free_block);
  int runs = 0;
  interleave({frees, frees, {Step::watch, Step::take, Step::unwatch, Step::take}}, {0, 0, 0}, Model{}, runs);
  EXPECT_EQ(runs, 4200);  // 10! / (3! 3! 4!)
  runs = 0;
  interleave({frees, frees, {Step::take, Step::watch, Step::take, Step::unwatch}}, {0, 0, 0}, Model{}, runs);
  EXPECT_EQ(runs, 4200);
}

TEST(RemoteWord, HoldsTheLargestOffsetAndCount) {
  RemoteWord word{0};
  word = word.armed_for(8192);
  EXPECT_EQ(word.notify_at(), 8192U);
  for (int i = 0; i < 8191; ++i) word = word.pushed((std::size_t{1} << 21) - 8);
  EXPECT_EQ(word.count(), 8191U);
  EXPECT_TRUE(word.is_armed());
  word = word.pushed(0);
  EXPECT_EQ(word.count(), 8192U);
  EXPECT_FALSE(word.is_armed());
  EXPECT_EQ(word.head_offset(), 0U);
  EXPECT_EQ(word.notify_at(), 8192U);
}

}  // namespace
}  // namespace heapwright::heap
