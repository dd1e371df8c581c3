// SPDX-License-Identifier: MIT
// Garbage in every field: the analysis may say anything, but must end.
#include <gtest/gtest.h>

#include <random>

#include "analyze/events_table.hpp"
#include "memory_trace.hpp"

namespace heapwright::analyze {
namespace {

std::uint64_t wild(std::mt19937_64& random) {
  const auto bits = random() % 65;
  return bits == 64 ? random() : random() & ((std::uint64_t{1} << bits) - 1);
}

void fill(MemoryTrace& trace, std::mt19937_64& random) {
  trace.chunk_events = 1 + random() % 300;
  for (int call = 0; call < 3000; ++call) {
    Call garbage;
    garbage.kind = static_cast<trace::EventKind>(random() % 3 == 0 ? random() % 256 : random() % 50);
    garbage.begin_ns = wild(random);
    garbage.duration_ns = static_cast<std::uint32_t>(wild(random));
    garbage.size = wild(random);
    garbage.usable = wild(random);
    garbage.address = random() % 4 == 0 ? wild(random) : random() % 64;
    garbage.old_address = random() % 4 == 0 ? wild(random) : random() % 64;
    garbage.stack = static_cast<std::uint32_t>(wild(random));
    garbage.alignment_log2 = static_cast<std::uint8_t>(random());
    trace.add(static_cast<std::uint32_t>(random() % 6), garbage);
  }
  trace.seal();
  for (auto& chunk : trace.chunks()) {
    if (random() % 4 == 0) {
      chunk.first_begin_ns = wild(random);
      chunk.last_end_ns = wild(random);
    }
    chunk.first_sequence = random() % 3 == 0 ? wild(random) : chunk.first_sequence;
  }
}

TEST(Hostile, GarbageEventsEndInFacts) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    MemoryTrace trace;
    fill(trace, random);
    trace.metadata_record.sample_mean_bytes = random() % 3 == 0 ? wild(random) : 0;
    trace.metadata_record.durations_recorded = random() % 2 == 0;
    trace.thread_records.push_back({static_cast<std::uint32_t>(random() % 1000), 1, "x", wild(random), 0,
                                    wild(random), wild(random), wild(random)});
    trace.samples.push_back({wild(random), wild(random), wild(random), 0, 0});
    Options options;
    options.timeline_points = static_cast<std::uint32_t>(random() % 100);
    options.from_ns = random() % 2 == 0 ? wild(random) : 0;
    options.to_ns = random() % 2 == 0 ? wild(random) : UINT64_MAX;
    options.min_size_bytes = random() % 2 == 0 ? 5 : 0;
    const auto facts = analyze(trace, options,
                               {random() % 2 == 0 ? 0U : 1U << 28, static_cast<std::uint32_t>(random() % 3)});
    EXPECT_LE(facts.totals.events,
              3000U * (trace.metadata_record.sample_mean_bytes != 0 ? std::uint64_t{1} << 33 : 1));
  }
}

TEST(Hostile, TablesEndToo) {
  for (std::uint64_t seed = 100; seed < 110; ++seed) {
    std::mt19937_64 random(seed);
    auto trace = std::make_unique<MemoryTrace>();
    fill(*trace, random);
    BlockTable table(std::move(trace));
    BlockColumns columns;
    std::size_t rows = 0;
    while (table.next(columns)) {
      rows += columns.count();
    }
    EXPECT_LE(rows, 3000U);
  }
}

TEST(Hostile, AThreadNumberBeyondBeliefIsRefused) {
  MemoryTrace trace;
  trace.malloc(4'000'000'000, 1600, 0x1000, 10);
  EXPECT_THROW(facts_of(trace), trace::TraceError);
}

TEST(Hostile, DamagedChunksAreCountedWhoeverReadsThem) {
  MemoryTrace trace;
  trace.chunk_events = 10;
  for (std::uint64_t call = 0; call < 2000; ++call) {
    const auto thread = static_cast<std::uint32_t>(call % 4);
    trace.malloc(thread, call * 160, 0x10000 + call * 64, 8);
  }
  trace.seal();
  for (std::size_t chunk = 0; chunk < 200; ++chunk) {
    if (chunk % 5 != 0) trace.damaged_chunks.insert(chunk);
  }
  const auto facts = analyze(trace, {}, {1U << 16, 3});
  EXPECT_EQ(facts.totals.allocations, 400U);
  EXPECT_FALSE(facts.completeness.is_complete);
  ASSERT_EQ(facts.completeness.reasons.size(), 5U);
  EXPECT_TRUE(facts.completeness.reasons[0].starts_with("damage at byte 164:")) << "in the file's order";
  EXPECT_EQ(facts.completeness.reasons[3], "and 157 more damaged places");
  EXPECT_EQ(facts.completeness.reasons[4], "1600 events could not be read");
}

TEST(Hostile, ThousandsOfThreadsAtOnce) {
  MemoryTrace trace;
  const auto address_of = [](std::uint64_t call, std::uint32_t thread) {
    return 0x10000 + (thread * 20 + call) * 64;
  };
  for (std::uint64_t call = 0; call < 20; ++call) {
    for (std::uint32_t thread = 0; thread < 3000; ++thread) {
      trace.malloc(thread, call * 1'000'000 + thread * 160, address_of(call, thread), 8);
    }
    for (std::uint32_t thread = 0; thread < 3000; ++thread) {
      trace.free((thread + 1) % 3000, call * 1'000'000 + 500'000 + thread * 160, address_of(call, thread));
    }
  }
  const auto facts = facts_of(trace, {}, {1U << 16, 1});
  EXPECT_EQ(facts.totals.allocations, 60000U);
  EXPECT_EQ(facts.totals.unknown_releases, 0U);
  EXPECT_EQ(facts.cross_thread.size(), 3000U);
  EXPECT_EQ(facts.peak.live_bytes, 3000U * 8);
}

}  // namespace
}  // namespace heapwright::analyze
