// SPDX-License-Identifier: MIT
// Stacks through functions that the compiler gave no unwind tables.
#include <gtest/gtest.h>

#include "bare.hpp"
#include "witness.hpp"

namespace heapwright::unwind {
namespace {

Stack found;

[[HOOK]] std::uint32_t capture_here() { return capture_from(__builtin_frame_address(0)); }

[[gnu::noinline]] int capture_bare(Bare&) {
  decode(TestProcess::current->block(), capture_here(), found);
  return 0;
}

// How many of the captured frames, from the second on, are those that the functions know of.
std::uint32_t count_right(const Bare& bare) {
  std::uint32_t right = 0;
  for (int i = bare.depth - 1; i >= 0 && right + 2 < found.count; --i, ++right) {
    if (found.pcs[right + 2] != reinterpret_cast<std::uint64_t>(bare.returns[i])) break;
  }
  return right;
}

template <typename Call>
[[gnu::noinline]] Bare run(Call call, int levels) {
  Bare bare{capture_bare, {}, 0};
  KEEP(call(bare, levels));
  return bare;
}

TEST(NoTables, FramePointersLeadOn) {
  TestProcess process;
  std::uint32_t whole_depth = 0;
  for (const int levels : {0, 1, 9, 30, 9, 30}) {
    const Bare bare = run(framed_call, levels);
    EXPECT_EQ(count_right(bare), static_cast<std::uint32_t>(bare.depth));
    EXPECT_EQ(found.by_frame_pointer, static_cast<std::uint32_t>(bare.depth));
    EXPECT_FALSE(found.is_truncated);
    // The frames beyond are those of the tables.
    const std::uint32_t outer = found.count - static_cast<std::uint32_t>(bare.depth);
    if (whole_depth == 0) whole_depth = outer;
    EXPECT_EQ(outer, whole_depth);
    EXPECT_GT(outer, 3U);
  }
}

// The frame pointer is then that of a function further out: it is not followed.
TEST(NoTables, WithoutFramePointersTheStackIsCut) {
  TestProcess process;
  for (const int levels : {0, 1, 9, 30}) {
    run(frameless_call, levels);
    EXPECT_EQ(found.count, 2U);
    EXPECT_EQ(found.by_frame_pointer, 0U);
    EXPECT_TRUE(found.is_truncated);
    EXPECT_EQ(found.mark, session::mark_no_tables);
  }
}

// A stack kept between captures: the outer part changes, and so do the frames beyond the kept ones.
TEST(NoTables, StoredFramesAreCheckedAgain) {
  TestProcess process;
  for (int round = 0; round < 50; ++round) {
    const Bare bare = run(framed_call, round % 5);
    EXPECT_EQ(count_right(bare), static_cast<std::uint32_t>(bare.depth)) << round;
    run(frameless_call, round % 3);
    EXPECT_EQ(found.count, 2U);
  }
}

}  // namespace
}  // namespace heapwright::unwind
