// SPDX-License-Identifier: MIT
// Stacks with the frames of a CPython, which this program imitates.
#include "unwind/python_frames.hpp"

#include "python_imitation.hpp"

namespace heapwright::unwind {
namespace {

using test::address_of;
using test::Code;
using test::Object;
using test::PythonFrames;
using test::state_of_this_thread;

INSTANTIATE_TEST_SUITE_P(Python, PythonFrames, ::testing::ValuesIn(python::layouts),
                         [](const auto& of) { return std::string("Of") + std::to_string(of.index + 9); });

TEST_P(PythonFrames, AreBehindTheNativeFrameThatRunsThem) {
  push_three();
  EXPECT_EQ(shown(outer_loop()), expected(". leaf:30 . Service.handle:24 main:13 . "));
}

TEST_P(PythonFrames, ChangesOfEachFrameAreSeen) {
  push_three();
  std::string seen;
  const std::uint64_t units[][3] = {{3, 4, 0}, {3, 4, 1}, {3, 5, 1}, {2, 5, 1}, {3, 4, 0}, {3, 4, 1}};
  for (const auto& unit : units) {
    frames[0].put(layout.frame_instruction, main_code.in_frame(unit[0]));
    frames[1].put(layout.frame_instruction, handle_code.in_frame(unit[1]));
    frames[2].put(layout.frame_instruction, leaf_code.in_frame(unit[2]));
    const std::string wanted = expected(". leaf:" + std::to_string(30 + unit[2]) +
                                        " . Service.handle:" + std::to_string(20 + unit[1]) +
                                        " main:" + std::to_string(10 + unit[0]) + " . ");
    EXPECT_EQ(shown(outer_loop()), wanted);
    EXPECT_EQ(shown(outer_loop()), wanted) << "again";
  }
}

TEST_P(PythonFrames, AnEqualStackIsOneNode) {
  push_three();
  std::uint32_t node = 0;
  for (int i = 0; i < 3; ++i) {
    const std::uint32_t found = outer_loop();
    if (node == 0) node = found;
    EXPECT_EQ(found, node);
    frames[2].put(layout.frame_instruction, leaf_code.in_frame(5));
    EXPECT_NE(outer_loop(), node);
    frames[2].put(layout.frame_instruction, leaf_code.in_frame(0));
  }
}

TEST_P(PythonFrames, CallsAndReturns) {
  push_three();
  const Code& called = main_code;
  std::string deeper = ". main:14 leaf:30 . Service.handle:24 main:13 . ";
  for (int i = 0; i < 2; ++i) {
    push(called, 4, frames[2].address(), false);
    meddle = has_own_loops() ? std::function<void()>() : [&] { run_frame(*inner, frames[3].address()); };
    EXPECT_EQ(shown(outer_loop()), expected(deeper));
    frames.pop_back();
    callers.pop_back();
    meddle = nullptr;
    EXPECT_EQ(shown(outer_loop()), expected(". leaf:30 . Service.handle:24 main:13 . "));
  }
}

TEST_P(PythonFrames, BrokenStructuresAreLeftOut) {
  push_three();
  std::vector<std::function<void()>> breaks = has_own_loops() ? broken_own_loops()
                                              : has_entries() ? broken_entries()
                                                              : broken_cframes();
  breaks.insert(breaks.end(), {
                                  [&] { state.put(layout.thread_id, 1); },
                                  [&] { runtime.put(layout.finalizing, 8); },
                                  [&] { runtime.put(layout.is_begun, 0); },
                                  [&] { state_of_this_thread = nullptr; },
                              });
  for (std::size_t i = 0; i < breaks.size(); ++i) {
    meddle = breaks[i];
    EXPECT_EQ(shown(outer_loop()), ". ") << i;
    for (std::size_t at = 0; at < frames.size(); ++at) frames[at].put(layout.frame_previous, callers[at]);
    state.put(layout.thread_id, reinterpret_cast<std::uint64_t>(__builtin_thread_pointer()));
    runtime.put(layout.finalizing, 0);
    runtime.put(layout.is_begun, 1);
    state_of_this_thread = reinterpret_cast<void*>(state.address());
    meddle = nullptr;
    EXPECT_EQ(shown(outer_loop()), expected(". leaf:30 . Service.handle:24 main:13 . ")) << i;
  }
}

TEST_P(PythonFrames, OfDeepRecursionTheInnermostAreKept) {
  push(main_code, 1, 0, true);
  for (int i = 0; i < 300; ++i) push(leaf_code, i % 2, frames.back().address(), false);
  push(handle_code, 2, frames[300].address(), true);
  outer_frame = 300;
  const std::string found = shown(outer_loop());
  EXPECT_TRUE(found.starts_with(expected(". Service.handle:22 . leaf:31 leaf:30 "))) << found;
  EXPECT_TRUE(found.ends_with(" … ")) << found;
  std::size_t leaves = 0;
  for (std::size_t at = 0; (at = found.find("leaf", at)) != std::string::npos; ++at) ++leaves;
  // Of the 128 native frames at most, one is not the interpreter's and one is handle's.
  EXPECT_EQ(leaves, has_own_loops() ? 126U : 127U);
}

TEST_P(PythonFrames, WithoutMemoryForThemStacksAreNative) {
  push_three();
  std::memset(memory, 0, sizeof memory);
  stack = begin_thread(process.tables(), memory);
  EXPECT_EQ(shown(outer_loop()), ". ");
}

}  // namespace
}  // namespace heapwright::unwind
