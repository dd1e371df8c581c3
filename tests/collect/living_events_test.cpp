// SPDX-License-Identifier: MIT
#include "collect/living_events.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace heapwright::collect {
namespace {

using trace::EventKind;

PlacedEvent call(EventKind kind, std::uint64_t begin_ns, std::uint64_t address, std::uint32_t thread = 0) {
  return {{.kind = kind, .begin_ns = begin_ns, .size = 8, .address = address}, thread, begin_ns};
}

PlacedEvent moved(std::uint64_t begin_ns, std::uint64_t from, std::uint64_t to, std::uint32_t duration_ns) {
  PlacedEvent event = call(EventKind::realloc_, begin_ns, to);
  event.event.old_address = from;
  event.event.duration_ns = duration_ns;
  return event;
}

// When the blocks were made that live.
std::vector<std::uint64_t> living(const std::vector<PlacedEvent>& events) {
  LivingEvents found;
  for (const PlacedEvent& event : events) found.add(event);
  std::vector<std::uint64_t> times;
  for (const PlacedEvent& event : found.take()) times.push_back(event.event.begin_ns);
  return times;
}

using Times = std::vector<std::uint64_t>;

TEST(LivingEvents, OfAnAddressTheLatestCounts) {
  const PlacedEvent first = call(EventKind::malloc_, 100, 0xa0);
  const PlacedEvent end = call(EventKind::free_, 200, 0xa0, 1);
  const PlacedEvent second = call(EventKind::malloc_, 300, 0xa0, 2);
  std::vector<PlacedEvent> events{first, end, second};
  std::vector<std::size_t> order{0, 1, 2};
  do {
    EXPECT_EQ(living({events[order[0]], events[order[1]], events[order[2]]}), Times{300});
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(living({end, first}), Times{}) << "the release is known before its block";
  EXPECT_EQ(living({first, second}), Times{300}) << "a release was missed";
}

TEST(LivingEvents, WithinAMomentAThreadsOwnOrderCountsAndOthersReleaseFirst) {
  EXPECT_EQ(living({call(EventKind::malloc_, 96, 0xa0), call(EventKind::free_, 96, 0xa0)}), Times{});
  EXPECT_EQ(living({call(EventKind::free_, 96, 0xa0), call(EventKind::malloc_, 96, 0xa0)}), Times{96});
  EXPECT_EQ(living({call(EventKind::malloc_, 96, 0xa0), call(EventKind::free_, 96, 0xa0, 1)}), Times{96});
  EXPECT_EQ(living({call(EventKind::free_, 96, 0xa0, 1), call(EventKind::malloc_, 96, 0xa0)}), Times{96});
}

TEST(LivingEvents, AReallocEndsItsOldBlockAndIsKeptWithoutIt) {
  const PlacedEvent first = call(EventKind::malloc_, 100, 0xa0);
  EXPECT_EQ(living({first, moved(200, 0xa0, 0xb0, 20)}), Times{200});
  EXPECT_EQ(living({first, moved(200, 0xa0, 0xa0, 20)}), Times{200}) << "in place";
  EXPECT_EQ(living({first, moved(200, 0xa0, 0, 20)}), Times{100}) << "it failed";
  PlacedEvent to_nothing = moved(200, 0xa0, 0, 20);
  to_nothing.event.size = 0;
  EXPECT_EQ(living({first, to_nothing}), Times{});
  LivingEvents found;
  found.add(moved(200, 0xa0, 0xb0, 20));
  EXPECT_EQ(found.take().at(0).event.old_address, 0U);
  // Its block is another thread's again before the realloc returns.
  EXPECT_EQ(living({first, moved(200, 0xa0, 0xb0, 50), call(EventKind::malloc_, 230, 0xa0, 1)}),
            (Times{200, 230}));
}

TEST(LivingEvents, WhatIsNoBlockDoesNotLive) {
  EXPECT_EQ(living({call(EventKind::malloc_, 100, 0), call(EventKind::mmap_, 200, 0x1000),
                    call(EventKind::pool_create, 300, 0xa0), call(EventKind::free_, 400, 0)}),
            Times{});
}

TEST(LivingEvents, TheyComeByThreadInSequence) {
  LivingEvents found;
  for (const std::uint32_t thread : {2U, 0U, 1U}) {
    for (std::uint64_t i = 1; i <= 50; ++i) {
      found.add(call(EventKind::malloc_, i, 0x1000 * (thread + 1) + 16 * i, thread));
    }
  }
  const std::vector<PlacedEvent> all = found.take();
  ASSERT_EQ(all.size(), 150U);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].thread, i / 50);
    EXPECT_EQ(all[i].sequence, i % 50 + 1);
  }
}

// Releases of ever new addresses must not stay; those that may meet their block yet must.
TEST(LivingEvents, OldReleasesAreForgottenAndLateOnesAreNot) {
  LivingEvents found;
  found.add(call(EventKind::free_, 1'000'000, 0xa0, 1));
  for (std::uint64_t i = 1; i <= 100'000; ++i) {
    found.pass(i);
    found.add(call(EventKind::malloc_, i, 0x10000 + 16 * i));
    found.add(call(EventKind::free_, i, 0x10000 + 16 * i));
  }
  EXPECT_LE(found.addresses(), 10'000U);
  found.add(call(EventKind::malloc_, 999'999, 0xa0));
  EXPECT_TRUE(found.take().empty());
}

// What lives is the same as by a map of the events in the order of time.
TEST(LivingEvents, AnyCallsOfManyAddressesLiveAsByASlowModel) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  LivingBlocks<PlacedEvent> found;
  std::map<std::uint64_t, std::uint64_t> model;  // when its block was made
  for (std::uint64_t now = 1; now <= 200'000; ++now) {
    const std::uint64_t address = 16 * (1 + random() % 40'000);
    const bool is_made = model.contains(address);
    found.add(call(is_made ? EventKind::free_ : EventKind::malloc_, now, address));
    if (is_made) {
      model.erase(address);
    } else {
      model[address] = now;
    }
    if (random() % 1'000 == 0) found.pass(now);
  }
  std::map<std::uint64_t, std::uint64_t> taken;
  std::uint64_t last = 0;
  found.take([&](std::uint64_t address, const PlacedEvent& kept, std::uint64_t made_ns) {
    EXPECT_LT(last, address);
    EXPECT_EQ(kept.event.begin_ns, made_ns);
    last = address;
    taken[address] = made_ns;
  });
  EXPECT_EQ(taken, model);
}

}  // namespace
}  // namespace heapwright::collect
