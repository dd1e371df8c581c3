// SPDX-License-Identifier: MIT
#include "order/decode_ahead.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "memory_pieces.hpp"

namespace heapwright::order {
namespace {

constexpr std::size_t call_count = 200;

class DecodesAhead : public testing::TestWithParam<unsigned> {
 protected:
  DecodesAhead() {
    trace_.chunk_events = 1;
    for (std::size_t call = 0; call < call_count; ++call) {
      trace_.malloc(0, 16 * call, 0x1000, call + 1);
    }
    trace_.seal();
    schedule_ = make_schedule(trace_.event_chunks(), UINT64_MAX);
  }

  MemoryTrace trace_;
  Schedule schedule_;
};

TEST_P(DecodesAhead, GivesPiecesInOrderAndFinishesEachOnce) {
  std::atomic<std::size_t> made = 0;
  std::atomic<std::size_t> finished = 0;
  DecodeAhead<MemoryPiece> ahead(
      schedule_, GetParam(),
      [&](unsigned worker, const ScheduledChunk&, std::uint32_t first, MemoryPiece& piece) {
        EXPECT_LE(worker, GetParam());
        ++made;
        fill(piece, trace_, first, 1);
      },
      [&](unsigned, MemoryPiece& piece) {
        EXPECT_EQ(piece.count(), 1U);
        ++finished;
      });
  for (std::size_t call = 0; call < call_count; ++call) {
    auto piece = ahead.take();
    ASSERT_EQ(piece->sizes, std::vector<std::uint64_t>{call + 1});
    ASSERT_LE(made, call + 1 + 32);  // the window bounds what is held
    ASSERT_LE(ahead.pieces_ahead(), 32U);
    ahead.recycle(std::move(piece));
  }
  ahead.finish();
  EXPECT_EQ(made, call_count);
  EXPECT_EQ(finished, call_count);
}

TEST_P(DecodesAhead, StopsAheadOfAConsumerThatTakesNothing) {
  constexpr std::size_t window = 32;
  std::atomic<std::size_t> made = 0;
  const DecodeAhead<MemoryPiece> ahead(
      schedule_, GetParam(),
      [&](unsigned, const ScheduledChunk&, std::uint32_t first, MemoryPiece& piece) {
        fill(piece, trace_, first, 1);
        ++made;
      },
      [](unsigned, MemoryPiece&) {});
  const std::size_t wanted = GetParam() == 0 ? 0 : window;
  while (made < wanted) std::this_thread::yield();
  // Time enough for what must not happen.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(made, wanted);
}

TEST_P(DecodesAhead, TheConsumerGetsAWorkersFailure) {
  DecodeAhead<MemoryPiece> ahead(
      schedule_, GetParam(),
      [&](unsigned, const ScheduledChunk& job, std::uint32_t first, MemoryPiece& piece) {
        if (&job == &schedule_.jobs[50]) {
          throw std::runtime_error("damaged");
        }
        fill(piece, trace_, first, 1);
      });
  EXPECT_THROW(
      for (std::size_t call = 0; call < call_count; ++call) { ahead.recycle(ahead.take()); },
      std::runtime_error);
}

INSTANTIATE_TEST_SUITE_P(Workers, DecodesAhead, testing::Values(0U, 1U, 3U));

}  // namespace
}  // namespace heapwright::order
