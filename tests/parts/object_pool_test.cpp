// SPDX-License-Identifier: MIT
#include "heapwright/object_pool.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <string>
#include <vector>

#include "heapwright/shared_object_pool.hpp"
#include "throwing_value.hpp"

struct Ring {  // not like std::vector: seen through its own retention<>
  std::size_t room = 0;
  std::size_t used = 0;
};

template <>
struct heapwright::retention<Ring> {
  static std::size_t used_bytes(const Ring& ring) noexcept { return ring.used; }
  static std::size_t retained_bytes(const Ring& ring) noexcept { return ring.room; }
  static void clear(Ring& ring) noexcept { ring.used = 0; }
  static void trim_to(Ring& ring, std::size_t bytes) { ring.room = bytes; }
};

namespace {

using heapwright::object_pool;

struct Request {
  std::string path;
  std::vector<int> fields;
  int number = 0;
  static constexpr auto pool_members = heapwright::members(&Request::path, &Request::fields);
};

void use(Request& request, std::size_t fields) {
  request.fields.resize(fields, 1);
  request.path.assign(fields / 2, 'p');
}

TEST(ObjectPool, ReusesClearedObjectsWithTheirCapacity) {
  object_pool<Request> pool({.max_idle = 10});
  const Request* first = nullptr;
  for (int i = 0; i < 100; ++i) {
    const auto request = pool.acquire();
    if (i > 20) {
      EXPECT_EQ(request.get(), first);
      EXPECT_GE(request->fields.capacity(), 50U);
    }
    first = request.get();
    EXPECT_TRUE(request->fields.empty() && request->path.empty());
    use(*request, 50);
  }
  EXPECT_EQ(pool.statistics().created, 1U);
  EXPECT_LE(pool.statistics().trims, 2U) << "the usual use is not trimmed";
}

// Each of 1,000 objects has one spike, then use is small again.
TEST(ObjectPool, ForgetsOneSpikePerObject) {
  constexpr std::size_t objects = 1000;
  constexpr std::size_t usual_fields = 100;
  object_pool<Request> pool({.max_idle = objects});
  std::vector<object_pool<Request>::handle> all;
  for (std::size_t i = 0; i < objects; ++i) all.push_back(pool.acquire());
  for (auto& request : all) use(*request, 25000);
  all.clear();
  EXPECT_FALSE(pool.retains_at_most(objects * 1000));
  for (int i = 0; i < 4000; ++i) use(*pool.acquire(), usual_fields);
  const std::size_t p90_bytes = usual_fields * sizeof(int) + usual_fields / 2;
  const auto check = pool.retains_at_most(2 * p90_bytes * objects);
  EXPECT_TRUE(check) << check.message;
}

TEST(ObjectPool, ForgetsRareSpikesOfOneObject) {
  object_pool<std::vector<char>> pool({.max_idle = 4});
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    auto buffer = pool.acquire();
    buffer->resize(random() % 50 == 0 ? 1000000 : 500 + random() % 500);
    buffer.reset();
    ASSERT_LE(pool.statistics().retained_bytes, i < 40 ? 2000000U : 2U * 1000U);
  }
}

TEST(ObjectPool, IsBoundedAndReports) {
  object_pool<std::string> pool({.max_idle = 3});
  {
    std::vector<object_pool<std::string>::handle> many;
    for (int i = 0; i < 10; ++i) many.push_back(pool.acquire());
    EXPECT_FALSE(pool.has_all_back());
    for (auto& text : many) text->assign(1000, 'x');
  }
  EXPECT_TRUE(pool.has_all_back());
  const auto s = pool.statistics();
  EXPECT_EQ(s.idle_objects, 3U);
  EXPECT_EQ(s.dropped, 7U);
  EXPECT_EQ(s.live_bytes, 0U);
  EXPECT_GE(s.retained_bytes, 3000U);
  const auto check = pool.retains_at_most(1);
  EXPECT_FALSE(check);
  EXPECT_NE(check.message.find("3 objects, 0 live bytes, "), std::string::npos) << check.message;
  pool.shrink_to(1);
  EXPECT_EQ(pool.statistics().idle_objects, 1U);
}

TEST(ObjectPool, SeesThroughTheCustomizationPoint) {
  object_pool<Ring> pool({.max_idle = 1});
  for (int i = 0; i < 600; ++i) {
    const auto ring = pool.acquire();
    ring->used = i == 0 ? 1000000 : 100;
    ring->room = std::max(ring->room, ring->used);
  }
  EXPECT_TRUE(pool.retains_at_most(200));
}

TEST(ObjectPool, MakesObjectsByAFactory) {
  int made = 0;
  const auto factory = [&made] { return std::string(static_cast<std::size_t>(++made), 'f'); };
  object_pool<std::string, decltype(factory)> pool({.max_idle = 2}, factory);
  {
    const auto first = pool.acquire();
    const auto second = pool.acquire();
    EXPECT_EQ(*second, "ff");
  }
  pool.acquire();
  EXPECT_EQ(made, 2);
}

// The smaller buffer cannot be had: the object is destroyed instead.
TEST(ObjectPool, DropsAnObjectItCannotTrim) {
  using Vector = std::vector<char, parts_test::CountingAllocator<char>>;
  const long blocks = parts_test::HeapCount::blocks;
  {
    object_pool<Vector> pool({.max_idle = 2});
    for (int i = 0; i < 30; ++i) pool.acquire()->resize(100);
    auto large = pool.acquire();
    large->resize(100000);
    parts_test::Countdown::left = 1;
    large.reset();
    parts_test::Countdown::left = 0;
    EXPECT_EQ(pool.statistics().idle_objects, 0U);
    EXPECT_EQ(pool.statistics().dropped, 1U);
  }
  EXPECT_EQ(parts_test::HeapCount::blocks, blocks);
}

TEST(ObjectPool, CountsBitsAsBits) {
  object_pool<std::vector<bool>> pool({.max_idle = 2, .always_retained_bytes = 0});
  for (int i = 0; i < 50; ++i) pool.acquire()->resize(800);
  EXPECT_GE(pool.statistics().retained_bytes, 100U);
  EXPECT_LE(pool.statistics().retained_bytes, 128U);
  EXPECT_LE(pool.statistics().limit_bytes, 128U);
  pool.acquire()->resize(80000);
  EXPECT_GE(pool.statistics().trimmed_bytes, 9000U);
  EXPECT_LE(pool.statistics().retained_bytes, 128U);
}

// An operator& of the elements' own is nobody's business.
struct Unaddressable {
  std::string text;
  Unaddressable* operator&() = delete;  // NOLINT
  static constexpr auto pool_members = heapwright::members(&Unaddressable::text);
};
TEST(ObjectPool, HoldsWhatHidesItsAddress) {
  object_pool<Unaddressable> pool({.max_idle = 2});
  pool.acquire()->text = "x";
  EXPECT_TRUE(pool.acquire()->text.empty());
  heapwright::shared_object_pool<Unaddressable> shared({.max_idle = 20});
  for (int i = 0; i < 3; ++i) shared.acquire()->text = "x";
  EXPECT_TRUE(shared.acquire()->text.empty());
}

}  // namespace
