// SPDX-License-Identifier: MIT
#include "order/merge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "memory_pieces.hpp"

namespace heapwright::order {
namespace {

struct Merged {
  std::uint64_t key;
  std::uint32_t thread;
  std::uint64_t size;
  bool operator==(const Merged&) const = default;
};

std::vector<Merged> merge_all(MemoryTrace& trace, std::uint32_t slice_events, unsigned workers) {
  trace.seal();
  const auto schedule = make_schedule(trace.event_chunks(), UINT64_MAX);
  DecodeAhead<MemoryPiece> ahead(
      schedule, workers, [&](unsigned, const ScheduledChunk&, std::uint32_t first, MemoryPiece& piece) {
        fill(piece, trace, first, slice_events);
      });
  Merge<MemoryPiece> merge(schedule, ahead);
  Run<MemoryPiece> run;
  std::vector<Merged> merged;
  while (merge.next(run)) {
    EXPECT_LT(run.from, run.to);
    for (auto row = run.from; row < run.to; ++row) {
      merged.push_back({run.piece->keys[row], schedule.thread_of_lane[run.lane], run.piece->sizes[row]});
    }
  }
  EXPECT_EQ(merge.chunks_loaded(), schedule.jobs.size());
  return merged;
}

// Times rise within a thread; several threads share quanta.
void fill_at_random(MemoryTrace& trace, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uint64_t number = 0;
  for (std::uint32_t thread = 0; thread < 5; ++thread) {
    std::uint64_t time_ns = random() % 2000;
    for (unsigned call = 0; call < 400; ++call) {
      time_ns += random() % (thread == 0 ? 400 : 40);  // one thread is rare, its chunks are long
      trace.malloc(thread, time_ns, 0x1000, ++number);
    }
  }
}

std::vector<Merged> sorted(const MemoryTrace& trace) {
  std::vector<Merged> all;
  for (const auto& [thread, calls] : trace.calls()) {
    for (const auto& call : calls) {
      all.push_back({merge_key(call.begin_ns, true), thread, call.size});
    }
  }
  std::sort(all.begin(), all.end(), [](const Merged& left, const Merged& right) {
    return std::tie(left.key, left.size) < std::tie(right.key, right.size);
  });
  return all;
}

TEST(Merge, GivesAllRowsOfAllThreadsInOrderOfTime) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    MemoryTrace trace;
    trace.chunk_events = 1 + seed * 7;
    fill_at_random(trace, seed);
    for (const std::uint32_t slice_events : {3U, 50U, UINT32_MAX / 2}) {
      const auto merged = merge_all(trace, slice_events, seed % 3);
      ASSERT_TRUE(std::is_sorted(merged.begin(), merged.end(),
                                 [](const Merged& a, const Merged& b) { return a.key < b.key; }))
          << "seed " << seed << ", slices of " << slice_events;
      auto by_number = merged;
      std::sort(by_number.begin(), by_number.end(), [](const Merged& left, const Merged& right) {
        return std::tie(left.key, left.size) < std::tie(right.key, right.size);
      });
      ASSERT_EQ(by_number, sorted(trace)) << "seed " << seed;
    }
  }
}

TEST(Merge, ReleasesComeBeforeAcquisitionsOfAnotherThreadWithinAQuantum) {
  MemoryTrace trace;
  trace.malloc(0, 160, 0x1000, 1);
  trace.free(1, 170, 0x1000);
  const auto merged = merge_all(trace, 100, 0);
  ASSERT_EQ(merged.size(), 2U);
  EXPECT_EQ(merged[0].thread, 1U);
}

TEST(Merge, NeverChangesTheOrderOfOneThread) {
  MemoryTrace trace;
  trace.malloc(0, 160, 0x1000, 1);
  trace.free(0, 170, 0x1000);  // the same quantum: its key is the lower one
  trace.malloc(0, 171, 0x1000, 2);
  const auto merged = merge_all(trace, 100, 0);
  ASSERT_EQ(merged.size(), 3U);
  EXPECT_EQ(merged[0].size, 1U);
  EXPECT_EQ(merged[1].size, 0U);
  EXPECT_EQ(merged[2].size, 2U);
}

TEST(Merge, OfNothingEndsAtOnce) {
  MemoryTrace trace;
  EXPECT_TRUE(merge_all(trace, 100, 2).empty());
}

}  // namespace
}  // namespace heapwright::order
