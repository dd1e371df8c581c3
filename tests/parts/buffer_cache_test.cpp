// SPDX-License-Identifier: MIT
#include "heapwright/buffer_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "poisoning_load.hpp"

namespace {

using heapwright::buffer_cache;
using heapwright::buffer_event;
using heapwright::cache_limits;
using heapwright::waste_bound;

TEST(BufferCache, KeepsTheWasteBoundUnderRandomUse) {
  buffer_cache<> cache({.total_bytes = 200000, .buffers = 50});
  std::mt19937 random(3);
  std::vector<buffer_cache<>::buffer> lent;
  for (int i = 0; i < 20000; ++i) {
    if (lent.empty() || random() % 2 == 0) {
      const std::size_t bytes = random() % (std::size_t{1} << random() % 18);
      auto buffer = cache.acquire(bytes);
      ASSERT_GE(buffer.capacity(), bytes);
      ASSERT_LE(buffer.capacity(), std::max({bytes * 5 / 4, (bytes + 7) / 8 * 8, std::size_t{8}}));
      std::memset(buffer.data(), static_cast<int>(bytes % 251), bytes);
      lent.push_back(std::move(buffer));
    } else {
      auto& back = lent[random() % lent.size()];
      for (const std::byte b : back.bytes()) ASSERT_EQ(b, static_cast<std::byte>(back.size() % 251));
      std::swap(back, lent.back());
      lent.pop_back();
    }
    ASSERT_LE(cache.counters().retained_bytes, 200000U);
    ASSERT_LE(cache.counters().retained_buffers, 50U);
  }
  EXPECT_GT(cache.counters().hits, 1000U);
  EXPECT_GT(cache.counters().dropped_full + cache.counters().refused_too_large, 0U);
}

TEST(BufferCache, RefusesWhatWouldPoisonIt) {
  buffer_cache<> cache({.total_bytes = 10000000, .buffers = 10});
  for (int i = 0; i < 200; ++i) cache.acquire(40);
  cache.acquire(1000000);
  EXPECT_EQ(cache.counters().refused_too_large, 1U);
  {
    buffer_cache<heapwright::keep_the_larger> flawed({.total_bytes = 10000000, .buffers = 1});
    flawed.acquire(1000000);
    EXPECT_EQ(flawed.acquire(40).capacity(), 1000000U) << "the flaw under study";
  }
  for (int i = 0; i < 400; ++i) cache.acquire(i % 2 == 0 ? 5000 : 4990);
  EXPECT_LE(cache.acquire(40).capacity(), waste_bound(40));
  cache.clear();
  cache.acquire(5000);
  EXPECT_EQ(cache.counters().retained_bytes, 5000U);
  const auto before = cache.counters().refused_wasteful;
  auto tiny = cache.acquire(40);
  EXPECT_EQ(cache.counters().refused_wasteful, before + 1) << "40 bytes would have received 5000";
}

TEST(BufferCache, ASmallRequestIsNotGivenAQuarterKilobyteMore) {
  buffer_cache<> cache({.total_bytes = 100000, .buffers = 10});
  for (int i = 0; i < 50; ++i) cache.acquire(352);
  EXPECT_EQ(cache.counters().retained_buffers, 1U);
  EXPECT_LE(cache.acquire(100).capacity(), 125U);
}

TEST(BufferCache, LearnsAPhaseChange) {
  buffer_cache<> cache({.total_bytes = 1000000, .buffers = 20});
  const auto run = [&](std::size_t base, int count) {
    std::vector<buffer_cache<>::buffer> few;
    for (int i = 0; i < count; ++i) {
      few.push_back(cache.acquire(base + static_cast<std::size_t>(i % 4)));
      if (few.size() > 5) few.erase(few.begin());
    }
  };
  run(200, 3000);
  EXPECT_LT(cache.policy().cutoff(), 300U);
  run(20000, 3000);
  EXPECT_GE(cache.policy().cutoff(), 20000U);
  const auto hits = cache.counters().hits;
  run(20000, 1000);
  EXPECT_GE(cache.counters().hits, hits + 980);
  run(200, 30000);
  EXPECT_LT(cache.policy().cutoff(), 300U);
  EXPECT_LT(cache.counters().retained_bytes, 20U * 300U) << "what nobody asks for is gone";
}

template <class Policy>
heapwright::cache_forecast forecast(const std::vector<buffer_event>& events, cache_limits limits) {
  Policy policy(limits);
  return heapwright::replay(policy, events);
}

TEST(BufferCache, IsNotPoisonedAndHitsMoreThanACalibratedPool) {
  for (const unsigned doubles_in : {2U, 4U}) {
    for (unsigned seed = 0; seed < 3; ++seed) {
      const auto events = poisoning_load(seed, doubles_in, 200000);
      const cache_limits limits{.total_bytes = 1000000, .buffers = 256};
      const auto ours = forecast<heapwright::learnt_cutoff>(events, limits);
      const auto calibrated = forecast<heapwright::calibrated_pool>(events, limits);
      const auto flawed = forecast<heapwright::keep_the_larger>(events, {64 * 1024 * 1024, 1});
      EXPECT_GE(ours.used_percent, 95.0);
      EXPECT_LE(ours.largest_waste, 1.25);
      EXPECT_GE(ours.hit_percent, calibrated.hit_percent);
      EXPECT_LE(ours.peak_retained_bytes, limits.total_bytes);
      EXPECT_LT(flawed.used_percent, 50.0);
    }
  }
}

// Five loads: the forecast must be what the cache then does.
TEST(BufferCache, ReplayPredictsTheCache) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    const auto events = poisoning_load(seed, 2 + seed, 20000);
    const cache_limits limits{.total_bytes = 50000 * (seed + 1), .buffers = 32};
    heapwright::learnt_cutoff policy(limits);
    const auto predicted = heapwright::replay(policy, events);
    buffer_cache<> cache(limits);
    std::map<std::size_t, buffer_cache<>::buffer> lent;
    for (const auto& event : events) {
      if (event.bytes != 0) {
        lent.emplace(event.request, cache.acquire(event.bytes));
      } else {
        lent.erase(event.request);
      }
    }
    EXPECT_EQ(cache.counters().hits, predicted.counters.hits);
    EXPECT_EQ(cache.counters().refused_too_large, predicted.counters.refused_too_large);
    EXPECT_EQ(cache.counters().retained_bytes, predicted.counters.retained_bytes);
  }
}

TEST(BufferCache, FixedCutoffCuresTheOneEntryCache) {
  const auto events = poisoning_load(1, 2, 100000);
  const auto cured = forecast<heapwright::fixed_cutoff<200>>(events, {1000000, 1});
  EXPECT_GE(cured.used_percent, 91.0);
}

// An owner of a buffer that is destroyed after the thread's cache.
struct LateRelease {
  std::byte* buffer = nullptr;
  ~LateRelease() {
    if (buffer != nullptr) heapwright::thread_buffer_cache<LateRelease>::release(buffer);
  }
};

TEST(BufferCache, ThreadCachesOutliveNothing) {
  using Cache = heapwright::thread_buffer_cache<LateRelease>;
  Cache::set_limits({.total_bytes = 100000, .buffers = 16});
  std::byte* from_a_dead_thread = nullptr;
  for (int i = 0; i < 8; ++i) {
    std::thread([&] {
      thread_local LateRelease late;
      late.buffer = nullptr;  // constructed before the cache, destroyed after it
      for (int k = 0; k < 100; ++k) Cache::release(Cache::allocate(100));
      EXPECT_GE(Cache::counters().hits, 99U);
      late.buffer = Cache::allocate(50);
      if (from_a_dead_thread != nullptr) Cache::release(from_a_dead_thread);
      from_a_dead_thread = Cache::allocate(300);
    }).join();
  }
  Cache::release(from_a_dead_thread);
}

// Each buffer is filled by one thread and given back by the next.
TEST(BufferCache, BuffersWanderBetweenThreads) {
  struct Wandering;
  using Cache = heapwright::thread_buffer_cache<Wandering>;
  std::mutex mutex;
  std::vector<std::byte*> on_the_way;
  const auto work = [&](std::size_t number) {
    for (std::size_t i = 0; i < 2000; ++i) {
      std::byte* mine = Cache::allocate(64 + i % 500);
      std::memset(mine, static_cast<int>(number), 64);
      std::byte* other = nullptr;
      {
        const std::scoped_lock lock(mutex);
        on_the_way.push_back(mine);
        std::swap(on_the_way[i % on_the_way.size()], on_the_way.back());
        if (on_the_way.size() > 20) {
          other = on_the_way.back();
          on_the_way.pop_back();
        }
      }
      if (other == nullptr) continue;
      EXPECT_EQ(other[0], other[63]);
      Cache::release(other);
    }
    EXPECT_EQ(Cache::counters().hits + Cache::counters().misses, 2000U);
  };
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) threads.emplace_back(work, t);
  for (auto& thread : threads) thread.join();
  for (std::byte* left : on_the_way) Cache::release(left);
}

// Each thread's first use takes the limits as a whole.
TEST(BufferCache, LimitsAreSetWhileThreadsBegin) {
  struct Begins;
  using Cache = heapwright::thread_buffer_cache<Begins>;
  for (std::size_t i = 1; i <= 50; ++i) {
    std::thread thread([] { Cache::release(Cache::allocate(100)); });
    Cache::set_limits({.total_bytes = i * 1000, .buffers = i});
    thread.join();
  }
  std::thread([] {
    Cache::set_limits({.total_bytes = 1000, .buffers = 2});
    std::vector<std::byte*> all;
    for (int i = 0; i < 5; ++i) all.push_back(Cache::allocate(100));
    for (std::byte* one : all) Cache::release(one);
    EXPECT_EQ(Cache::counters().retained_buffers, 2U);
  }).join();
}

}  // namespace
