// SPDX-License-Identifier: MIT
#include "analyze/releases.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "memory_trace.hpp"

namespace heapwright::analyze {
namespace {

using trace::EventKind;

// What ReleaseFacts stands on and what it fills.
class Releases : public testing::Test {
 protected:
  Releases()
      : schedule_(order::make_schedule(trace_.event_chunks(), UINT64_MAX)),
        scope_(options_, trace_, schedule_, PipelineLimits{}) {}

  Facts facts_of(const ReleaseFacts& releases) {
    Facts facts;
    facts.stacks.resize(scope_.sites.stack_count());
    facts.by_size.resize(size_class_count);
    releases.finish(LivePeak(), facts);
    releases.latencies().finish(facts);
    return facts;
  }

  MemoryTrace trace_;
  Options options_;
  order::Schedule schedule_;
  Scope scope_;
};

Row row_of(EventKind kind, std::uint32_t duration_ns, std::uint8_t flags) {
  return {0x1000, 1600, 0, 0, duration_ns, 0, kind, flags};
}

Row paired(Row row, std::uint64_t lifetime_ns, std::uint32_t size_bytes, std::uint32_t stack) {
  row.pair(lifetime_ns, size_bytes, stack);
  return row;
}

void fill(Piece& piece, const std::vector<Row>& rows) {
  auto* end = piece.open(rows.size());
  for (const auto& row : rows) {
    *end++ = row;
  }
  piece.close(end, 0);
}

TEST_F(Releases, OnlyPairedRowsCount) {
  Piece piece;
  fill(piece, {row_of(EventKind::malloc_, 16, row_acquires), row_of(EventKind::free_, 32, 0),
               paired(row_of(EventKind::free_, 64, 0), 500, 20, 3),
               paired(row_of(EventKind::delete_plain, 128, row_by_other_thread), 700, 20, 3)});
  ReleaseFacts releases(scope_);
  releases.add(piece);
  const auto facts = facts_of(releases);
  EXPECT_EQ(facts.stacks[3].freed, 2U);
  EXPECT_EQ(facts.stacks[3].lifetime_sum_ns, 1200U);
  EXPECT_EQ(facts.stacks[3].release_ns, 192U);
  EXPECT_EQ(facts.stacks[3].freed_by_other_thread, 1U);
  EXPECT_EQ(facts.stacks[0].freed, 0U);
  EXPECT_EQ(facts.release_latency.calls, 2U);
  EXPECT_EQ(facts.release_latency.max_ns, 128U);
  EXPECT_EQ(facts.by_size[size_class_of(20)].release_latency.sum_ns, 192U);
  ASSERT_EQ(facts.by_kind.size(), 2U);
  EXPECT_EQ(facts.by_kind[1].kind, EventKind::delete_plain);
}

// The call's time belongs to the block it makes, if it makes one.
TEST_F(Releases, AReallocEndsABlockButIsNoReleaseCall) {
  Piece piece;
  fill(piece, {paired(row_of(EventKind::realloc_, 32, row_in_realloc), 500, 20, 3),
               paired(row_of(EventKind::realloc_, 64, 0), 900, 40, 4)});
  ReleaseFacts releases(scope_);
  releases.add(piece);
  const auto facts = facts_of(releases);
  EXPECT_EQ(facts.stacks[3].freed, 1U);
  EXPECT_EQ(facts.stacks[3].release_ns, 0U);
  EXPECT_EQ(facts.stacks[4].freed, 1U);
  EXPECT_EQ(facts.stacks[4].release_ns, 64U);
  EXPECT_EQ(facts.release_latency.calls, 0U);
}

TEST_F(Releases, WhatFitsNoRowWeighsAsManyAsItStandsFor) {
  ReleaseFacts releases(scope_);
  releases.add({500, std::uint64_t{1} << 33, 7, 3, 64, EventKind::free_, false, true});
  const auto facts = facts_of(releases);
  EXPECT_EQ(facts.stacks[3].freed, 7U);
  EXPECT_EQ(facts.stacks[3].freed_by_other_thread, 7U);
  EXPECT_EQ(facts.stacks[3].lifetime_sum_ns, 3500U);
  EXPECT_EQ(facts.stacks[3].release_ns, 448U);
  EXPECT_EQ(facts.by_size[34].release_latency.calls, 7U);
}

TEST_F(Releases, OfUnknownBlocksAreCallsWithoutASize) {
  ReleaseFacts releases(scope_);
  releases.add_unknown(EventKind::free_, 64);
  const auto facts = facts_of(releases);
  EXPECT_EQ(facts.release_latency.calls, 1U);
  for (const auto& row : facts.by_size) {
    EXPECT_EQ(row.release_latency.calls, 0U);
  }
  EXPECT_TRUE(facts.lifetimes.blocks.empty());
}

TEST_F(Releases, OfSeveralThreadsAddUp) {
  ReleaseFacts releases(scope_);
  ReleaseFacts others(scope_);
  releases.add({500, 20, 1, 3, 64, EventKind::free_, false, false});
  others.add({500, 20, 1, 3, 32, EventKind::free_, false, true});
  others.add({900, 20, 1, 5, 16, EventKind::free_, false, false});
  releases.add(others);
  const auto facts = facts_of(releases);
  EXPECT_EQ(facts.stacks[3].freed, 2U);
  EXPECT_EQ(facts.stacks[3].lifetime_sum_ns, 1000U);
  EXPECT_EQ(facts.stacks[3].release_ns, 96U);
  EXPECT_EQ(facts.stacks[3].freed_by_other_thread, 1U);
  EXPECT_EQ(facts.stacks[5].freed, 1U);
  EXPECT_EQ(facts.release_latency.calls, 3U);
  EXPECT_EQ(facts.release_latency.sum_ns, 112U);
}

}  // namespace
}  // namespace heapwright::analyze
