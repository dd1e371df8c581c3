// SPDX-License-Identifier: MIT
#include "collect/pending_work.hpp"

#include <gtest/gtest.h>

namespace heapwright::collect {
namespace {

using Kind = KernelRecordKind;

constexpr std::size_t many = 1 << 20;

void add(PendingWork& pending, Kind kind, std::uint64_t time_ns, std::size_t most_parts = many) {
  pending.add({.kind = kind}, time_ns, most_parts);
}

void add_fault(PendingWork& pending, std::uint64_t from_ns, std::uint64_t to_ns,
               std::size_t most_parts = many) {
  add(pending, Kind::fault, from_ns, most_parts);
  add(pending, Kind::fault_done, to_ns, most_parts);
}

TEST(PendingWork, ACallHasWhatFallsIntoIt) {
  PendingWork pending;
  EXPECT_EQ(pending.first_ns(), UINT64_MAX);
  add_fault(pending, 90, 99);
  add_fault(pending, 110, 117);
  add_fault(pending, 150, 152);
  add_fault(pending, 201, 230);
  EXPECT_EQ(pending.first_ns(), 90U);
  EXPECT_EQ(pending.take(100, 200), (trace::KernelWork{.faults = 2, .fault_ns = 9}));
  EXPECT_EQ(pending.first_ns(), 201U);
  EXPECT_EQ(pending.take(240, 300), trace::KernelWork{}) << "between two calls";
  EXPECT_EQ(pending.first_ns(), UINT64_MAX);
}

TEST(PendingWork, BordersBelongToTheCall) {
  PendingWork pending;
  add_fault(pending, 100, 200);
  EXPECT_EQ(pending.take(100, 200).faults, 1U);
  add_fault(pending, 300, 401);
  EXPECT_EQ(pending.take(300, 400).faults, 0U) << "it ends outside";
}

TEST(PendingWork, TellsWaitsFromPreemptions) {
  PendingWork pending;
  add(pending, Kind::waits, 10);
  add(pending, Kind::resumed, 25);
  add(pending, Kind::preempted, 30);
  add(pending, Kind::resumed, 70);
  add(pending, Kind::resumed, 80);  // the begin is lost
  EXPECT_EQ(pending.take(0, 100),
            (trace::KernelWork{.waits = 1, .preemptions = 1, .waited_ns = 15, .preempted_ns = 40}));
}

TEST(PendingWork, AFaultThatSleepsIsShorterByThat) {
  PendingWork pending;
  add(pending, Kind::fault, 10);
  add(pending, Kind::waits, 20);
  add(pending, Kind::resumed, 70);
  add(pending, Kind::fault_done, 80);
  EXPECT_EQ(pending.take(0, 100),
            (trace::KernelWork{.faults = 1, .waits = 1, .fault_ns = 20, .waited_ns = 50}));
}

TEST(PendingWork, KeepsTheLastMapping) {
  PendingWork pending;
  pending.add({.address = 4096, .amount = 8192, .kind = Kind::mapping}, 10, many);
  pending.add({.address = 65536, .amount = 4096, .kind = Kind::mapping}, 20, many);
  EXPECT_EQ(pending.take(0, 100),
            (trace::KernelWork{.mappings = 2, .mapped_address = 65536, .mapped_bytes = 4096}));
}

TEST(PendingWork, RecordsOfAnotherProcessorComeInOrderAllTheSame) {
  PendingWork pending;
  add_fault(pending, 300, 310);
  add_fault(pending, 100, 110);
  EXPECT_EQ(pending.take(50, 200).faults, 1U);
  EXPECT_EQ(pending.take(250, 400).faults, 1U);
}

TEST(PendingWork, ALossPutsLongCallsInDoubt) {
  PendingWork pending;
  pending.add_gap(10'000, 20'000);
  EXPECT_FALSE(pending.take(1'000, 9'000).is_incomplete);
  EXPECT_TRUE(pending.take(9'500, 14'000).is_incomplete);
  EXPECT_FALSE(pending.take(14'000, 14'100).is_incomplete) << "too short to hold much";
  EXPECT_TRUE(pending.take(15'000, 30'000).is_incomplete) << "the next one as well";
  EXPECT_FALSE(pending.take(40'000, 60'000).is_incomplete);
}

TEST(PendingWork, ALossDoesNotMakeTimesUp) {
  PendingWork pending;
  add(pending, Kind::waits, 10);
  pending.add_gap(20, 30);
  add(pending, Kind::resumed, 90);
  EXPECT_EQ(pending.take(0, 100), trace::KernelWork{.is_incomplete = false}) << "short";
  EXPECT_EQ(pending.first_ns(), UINT64_MAX);
}

// A call that faults without end, behind others of which nobody asked in between.
TEST(PendingWork, ManyRecordsTakeLittleRoomAndBelongToTheirCall) {
  constexpr std::uint32_t faults = 100'000;
  constexpr std::size_t most_parts = 512;
  PendingWork pending;
  std::uint64_t now_ns = 1000;
  const auto fault = [&](std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i, now_ns += 10) {
      add_fault(pending, now_ns, now_ns + 3, most_parts);
    }
  };
  fault(faults / 10);
  const std::uint64_t begin_ns = now_ns;
  fault(faults);
  const std::uint64_t end_ns = now_ns;
  fault(faults / 10);
  const trace::KernelWork work = pending.take(begin_ns, end_ns);
  EXPECT_NEAR(work.faults, faults, faults / 50);
  EXPECT_NEAR(static_cast<double>(work.fault_ns), faults * 3.0, faults * 3.0 / 50);
  const trace::KernelWork rest = pending.take(end_ns + 1, now_ns);
  EXPECT_NEAR(work.faults + rest.faults, faults * 1.1, faults / 50);
}

TEST(PendingWork, NothingIsLostWithinOneCallHoweverMany) {
  constexpr std::uint32_t faults = 100'000;
  PendingWork pending;
  for (std::uint64_t i = 0; i < faults; ++i) add_fault(pending, 1000 + i * 10, 1000 + i * 10 + 3, 128);
  EXPECT_EQ(pending.take(1000, 1000 + faults * 10),
            (trace::KernelWork{.faults = faults, .fault_ns = faults * 3}));
}

}  // namespace
}  // namespace heapwright::collect
