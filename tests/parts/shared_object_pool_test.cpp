// SPDX-License-Identifier: MIT
#include "heapwright/shared_object_pool.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {
struct Asking {
  static inline heapwright::shared_object_pool<Asking>* pool = nullptr;
  static inline int asked = 0;
};
}  // namespace
template <>
struct heapwright::retention<Asking> {
  static std::size_t used_bytes(const Asking&) noexcept { return 1; }
  static std::size_t retained_bytes(const Asking&) noexcept {
    if (Asking::pool != nullptr) Asking::asked += Asking::pool->report().empty() ? 0 : 1;
    return 1;
  }
  static void clear(Asking&) noexcept {}
  static void trim_to(Asking&, std::size_t) {}
};

namespace {

using heapwright::shared_object_pool;

struct SharedRequest {
  std::string path;
  std::vector<int> fields;
  int number = 0;
  static constexpr auto pool_members = heapwright::members(&SharedRequest::path, &SharedRequest::fields);
};

TEST(SharedObjectPool, ServesThreads) {
  shared_object_pool<SharedRequest> pool({.max_idle = 8});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, t] {
      for (int i = 0; i < 2000; ++i) {
        const auto request = pool.acquire();
        ASSERT_TRUE(request->fields.empty());
        request->number = t;
        request->fields.resize(static_cast<std::size_t>(i % 100));
        ASSERT_EQ(request->number, t);
      }
    });
  }
  for (int i = 0; i < 50; ++i) {  // the pool is looked at and trimmed meanwhile
    EXPECT_LE(pool.statistics().idle_objects, 8U);
    pool.trim();
    pool.shrink_to(2);
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(pool.has_all_back());
  EXPECT_EQ(pool.statistics().acquired, 8000U);
  EXPECT_LE(pool.statistics().idle_objects, 8U);
}

// Clearing one object gives another back: no lock may be held meanwhile.
struct Parent;
using ParentPool = shared_object_pool<Parent>;
struct Parent {
  std::vector<ParentPool::handle> children;
  static constexpr auto pool_members = heapwright::members(&Parent::children);
};
TEST(SharedObjectPool, ClearingOneObjectReleasesOthers) {
  ParentPool pool({.max_idle = 3});
  auto root = pool.acquire();
  for (int i = 0; i < 5; ++i) {
    root->children.push_back(pool.acquire());
    root->children.back()->children.push_back(pool.acquire());
  }
  root.reset();
  EXPECT_TRUE(pool.has_all_back());
  EXPECT_LE(pool.statistics().idle_objects, 3U);
}

// Nor while an object is made or destroyed.
struct Text {
  std::string text;
  std::shared_ptr<int> ends;
  static constexpr auto pool_members = heapwright::members(&Text::text);
};
TEST(SharedObjectPool, ObjectsUseThePoolWhenTheyAreMadeAndEnd) {
  static std::optional<shared_object_pool<std::string>> other;
  other.emplace(heapwright::pool_options{.max_idle = 2});
  const auto factory = [] {
    const auto inner = other->acquire();
    return Text{*inner, std::shared_ptr<int>(new int, [](int* number) {
                  delete number;
                  other->statistics();
                })};
  };
  shared_object_pool<Text, decltype(factory)> pool({.max_idle = 2}, factory);
  std::vector<decltype(pool)::handle> many;
  for (int i = 0; i < 9; ++i) many.push_back(pool.acquire());
  many.clear();
  pool.shrink_to(0);
  EXPECT_EQ(pool.statistics().idle_objects, 0U);
  EXPECT_EQ(pool.statistics().created, 9U);
}

TEST(SharedObjectPool, ObjectsComeBackOnOtherThreads) {
  shared_object_pool<SharedRequest> pool({.max_idle = 64});
  for (int round = 0; round < 50; ++round) {
    std::vector<shared_object_pool<SharedRequest>::handle> all;
    for (int i = 0; i < 40; ++i) all.push_back(pool.acquire());
    std::thread([&all] { all.clear(); }).join();
  }
  EXPECT_TRUE(pool.has_all_back());
  EXPECT_LE(pool.statistics().created, 60U) << "what a thread held is handed on at its end";
  EXPECT_LE(pool.statistics().idle_objects, 64U);
}

TEST(SharedObjectPool, IsBoundedHoweverManyThreadsUseIt) {
  shared_object_pool<std::string> pool({.max_idle = 5});
  std::barrier all_have(12);
  std::vector<std::thread> threads;
  for (int t = 0; t < 12; ++t) {
    threads.emplace_back([&] {
      std::vector<shared_object_pool<std::string>::handle> mine;
      for (int i = 0; i < 4; ++i) mine.push_back(pool.acquire());
      all_have.arrive_and_wait();
      mine.clear();
      all_have.arrive_and_wait();
      EXPECT_LE(pool.statistics().idle_objects, 5U);
      EXPECT_TRUE(pool.has_all_back());
      all_have.arrive_and_wait();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(pool.statistics().created, 48U);
}

TEST(SharedObjectPool, ForgetsSpikesInDepotAndMagazines) {
  constexpr std::size_t objects = 200;
  shared_object_pool<SharedRequest> pool({.max_idle = objects});
  std::vector<shared_object_pool<SharedRequest>::handle> all;
  for (std::size_t i = 0; i < objects; ++i) all.push_back(pool.acquire());
  for (auto& request : all) request->fields.resize(25000);
  all.clear();
  EXPECT_FALSE(pool.retains_at_most(objects * 1000));
  for (int i = 0; i < 8 * 1000; ++i) pool.acquire()->fields.resize(100);
  const auto check = pool.retains_at_most(2 * 400 * objects);
  EXPECT_TRUE(check) << check.message;
  EXPECT_GT(pool.statistics().trimmed_bytes, 0U);
}

TEST(SharedObjectPool, ThreadsOutliveItAndItOutlivesThreads) {
  auto pool = std::make_unique<shared_object_pool<std::string>>(heapwright::pool_options{.max_idle = 40});
  std::barrier step(2);
  std::thread outlives([&] {
    pool->acquire()->assign(100, 'x');
    step.arrive_and_wait();
    step.arrive_and_wait();  // the pool is gone
    shared_object_pool<std::string> next({.max_idle = 40});
    next.acquire()->assign(100, 'y');
  });
  step.arrive_and_wait();
  EXPECT_EQ(pool->statistics().idle_objects, 1U);
  EXPECT_GE(pool->statistics().retained_bytes, 100U);
  pool.reset();
  step.arrive_and_wait();
  outlives.join();
}

// Nor while the pool counts what its objects retain.
TEST(SharedObjectPool, RetentionMayAskThePool) {
  alarm(60);  // a deadlock ends the program
  shared_object_pool<Asking> pool({.max_idle = 100});
  Asking::pool = &pool;
  for (int round = 0; round < 3; ++round) {
    std::vector<shared_object_pool<Asking>::handle> many;
    for (int i = 0; i < 80; ++i) many.push_back(pool.acquire());
  }
  shared_object_pool<Asking> small({.max_idle = 1});  // without magazines
  Asking::pool = &small;
  for (int i = 0; i < 20; ++i) small.acquire();
  small.trim();
  EXPECT_EQ(small.statistics().created, 1U);
  EXPECT_GT(Asking::asked, 0);
  Asking::pool = nullptr;
  alarm(0);
}

TEST(SharedObjectPool, TrimsAllOfTheDepotAtOnce) {
  shared_object_pool<std::string> pool({.max_idle = 1000});
  for (int i = 0; i < 501; ++i) pool.acquire()->assign(20, 'x');  // the uses of this thread are small
  std::thread([&pool] {                                           // those of one that ends are not
    std::vector<shared_object_pool<std::string>::handle> all;
    for (int i = 0; i < 20; ++i) {
      all.push_back(pool.acquire());
      all.back()->resize(1000000);
    }
  })
      .join();
  EXPECT_FALSE(pool.retains_at_most(19 * 1000000));
  pool.trim();
  EXPECT_TRUE(pool.retains_at_most(10000));
}

// Threads that rest keep magazines; all others still reuse what they need.
void use_in_turn(std::size_t max_idle, int threads, std::uint64_t most_made) {
  shared_object_pool<std::string> pool({.max_idle = max_idle});
  std::barrier turn(threads);
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      for (int whose = 0; whose < threads; ++whose) {
        turn.arrive_and_wait();
        if (whose != t) continue;
        for (int i = 0; i < 1000; ++i) pool.acquire()->assign(100, 'x');
        EXPECT_LE(pool.statistics().idle_objects, max_idle);
      }
      turn.arrive_and_wait();
    });
  }
  for (auto& thread : all) thread.join();
  EXPECT_LE(pool.statistics().created, most_made) << max_idle << " idle objects";
}
TEST(SharedObjectPool, ThreadsThatRestStarveNobody) {
  for (const std::size_t max_idle : {1U, 2U, 5U, 8U, 64U, 100U}) use_in_turn(max_idle, 24, 24);
}

TEST(SharedObjectPool, AThreadFindsItsMagazinesOfManyPools) {
  std::vector<std::unique_ptr<shared_object_pool<std::string>>> pools;
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < 200; ++i) {
      if (round != 1 || i % 3 == 0) {
        pools.resize(std::max(pools.size(), i + 1));
        pools[i] =
            std::make_unique<shared_object_pool<std::string>>(heapwright::pool_options{.max_idle = 16});
      }
    }
    for (int use = 0; use < 3; ++use) {
      for (auto& pool : pools) pool->acquire()->assign(50, 'x');
    }
    for (auto& pool : pools) {
      EXPECT_EQ(pool->statistics().created, 1U);
      EXPECT_EQ(pool->statistics().idle_objects, 1U);
    }
  }
}

}  // namespace
