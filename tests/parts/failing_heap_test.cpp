// SPDX-License-Identifier: MIT
// length: one use of each part, and what a thread meets first
// Every allocation of a use of each part fails once, and every constructor
// throws once: nothing may leak, and what was there before must still be whole.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "heapwright/arena.hpp"
#include "heapwright/buffer_cache.hpp"
#include "heapwright/class_heap.hpp"
#include "heapwright/deferred_free.hpp"
#include "heapwright/heap_budget.hpp"
#include "heapwright/make_shared_private.hpp"
#include "heapwright/object_pool.hpp"
#include "heapwright/shared_object_pool.hpp"
#include "heapwright/small_vector.hpp"

namespace {

using heapwright::heap_budget;
using heapwright::heap_limits;

constexpr const char* long_text = "a text that is longer than any small string";

// Allocates, and is the throwing point of its constructor.
struct Fragile {
  static inline long until_throw = 0;  // 0: never
  Fragile() : Fragile(0) {}
  explicit Fragile(int n) : number(n), text(long_text) {
    if (until_throw > 0 && --until_throw == 0) throw std::runtime_error("constructor");
  }
  int number;
  std::string text;
};

// Fails the first allocation of the use, then the second, and so on.
template <class Use>
void fail_each_allocation(Use use) {
  use();  // what is allocated once for all, is
  heap_budget whole(heap_limits{});
  use();
  whole.close();
  const std::uint64_t allocations = whole.usage().allocations;
  EXPECT_GT(allocations, 0U) << "a use that allocates nothing shows nothing";
  for (std::uint64_t point = 1; point <= allocations; ++point) {
    heap_budget leak({.live_bytes = 0});
    {
      const heapwright::heap_failures at(point);
      EXPECT_THROW(use(), std::bad_alloc) << "allocation " << point << " of " << allocations;
    }
    EXPECT_EQ(leak.message(), "") << "allocation " << point << " of " << allocations;
  }
}

// The same for the constructors of Fragile; `count` are made by the use.
template <class Use>
void throw_from_each_constructor(long count, Use use) {
  use();
  for (long point = 1; point <= count; ++point) {
    heap_budget leak({.live_bytes = 0});
    Fragile::until_throw = point;
    EXPECT_THROW(use(), std::runtime_error) << "constructor " << point;
    EXPECT_EQ(leak.message(), "") << "constructor " << point;
  }
  Fragile::until_throw = 0;
}

template <class Use>
void fail_everywhere(long constructors, Use use) {
  fail_each_allocation(use);
  throw_from_each_constructor(constructors, use);
}

TEST(FailingHeap, SmallVector) {
  fail_everywhere(8, [] {
    heapwright::small_vector<Fragile, 2> vector;
    for (int i = 0; i < 8; ++i) vector.emplace_back(i);
  });
  fail_everywhere(8, [] {
    heapwright::compact_vector<Fragile, 2> vector;
    for (int i = 0; i < 8; ++i) vector.emplace_back(i);
  });
  fail_each_allocation([] {
    heapwright::small_vector<std::string, 1> vector(3, long_text);
    const auto copy = vector;
    vector.insert(vector.begin() + 1, copy.begin(), copy.end());
    vector.assign(10, long_text);
  });
}

TEST(FailingHeap, Arena) {
  fail_everywhere(20, [] {
    heapwright::arena memory({.first_block_bytes = 128});
    for (int i = 0; i < 20; ++i) memory.create<Fragile>(i);
    memory.allocate(100000);
  });
  fail_each_allocation([] {
    heapwright::arena memory;
    memory.create_array<std::string>(5)[4] = long_text;
  });
}

struct Request {
  Fragile fragile;
  std::string path;
  std::vector<int> fields;
  static constexpr auto pool_members = heapwright::members(&Request::path, &Request::fields);
};

TEST(FailingHeap, ObjectPool) {
  fail_everywhere(3, [] {
    heapwright::object_pool<Request> pool({.max_idle = 4});
    const auto first = pool.acquire();
    first->fields.resize(100);
    {
      const auto second = pool.acquire();
      second->path = long_text;
    }
    const auto again = pool.acquire();
    const auto third = pool.acquire();
  });
}

TEST(FailingHeap, ObjectPoolGoesOn) {
  heapwright::object_pool<Request> pool({.max_idle = 4});
  const auto held = pool.acquire();
  {
    const heapwright::heap_failures every(1);
    EXPECT_THROW(pool.acquire(), std::bad_alloc);
  }
  EXPECT_EQ(pool.statistics().outstanding_objects, 1U);
  EXPECT_EQ(pool.statistics().created, 1U);
  EXPECT_NE(pool.acquire(), nullptr);
}

TEST(FailingHeap, BufferCache) {
  fail_each_allocation([] {
    heapwright::buffer_cache<> cache({.total_bytes = 100000, .buffers = 8});
    const auto first = cache.acquire(1000);
    cache.acquire(2000);
    const auto second = cache.acquire(2000);  // the one that came back
    const auto third = cache.acquire(5000);
  });
  fail_each_allocation([] {
    heapwright::buffer_cache<heapwright::keep_the_larger> cache({.total_bytes = 100000, .buffers = 8});
    const auto first = cache.acquire(1000);
  });
}

TEST(FailingHeap, BufferCacheGoesOn) {
  heapwright::buffer_cache<> cache({.total_bytes = 100000, .buffers = 8});
  cache.acquire(1000);
  {
    const heapwright::heap_failures every(1);
    EXPECT_THROW(cache.acquire(5000), std::bad_alloc);
    EXPECT_EQ(cache.acquire(1000).size(), 1000U) << "needs no heap";
  }
  EXPECT_EQ(cache.counters().hits, 1U);
  EXPECT_EQ(cache.counters().misses, 2U);
  EXPECT_EQ(cache.counters().retained_buffers, 1U);
}

TEST(FailingHeap, DeferredFree) {
  fail_everywhere(2, [] {
    heapwright::deferred_free queue({.entries = 4});
    queue.defer(new Fragile(1));
    queue.defer(std::make_unique<Fragile>(2));
  });
}

// Putting something off needs no heap; what must happen at once, happens.
TEST(FailingHeap, DeferredFreeNeedsNoHeap) {
  heapwright::deferred_free queue({.entries = 4});
  std::vector<Fragile*> objects;
  for (int i = 0; i < 10; ++i) objects.push_back(new Fragile(i));
  heap_budget none({.allocations = 0});
  for (Fragile* object : objects) queue.defer(object);
  queue.drain();
  EXPECT_EQ(none.message(), "");
  EXPECT_EQ(queue.statistics().pending, 0U);
}

// When the block of the counts cannot be had, the object itself is deferred.
TEST(FailingHeap, MakeSharedDeferred) {
  fail_everywhere(1, [] {
    struct at_the_end {
      ~at_the_end() { heapwright::deferred_free::of_thread()->barrier(); }
    } const drained;
    heapwright::make_shared_deferred<Fragile>(1);
  });
}

TEST(FailingHeap, LivesUntilExit) {
  fail_everywhere(
      1, [] { const heapwright::lives_until_exit<Fragile> object(heapwright::exit_policy::destroy, 1); });
}

class Private {
  friend class heapwright::private_access;
  explicit Private(int number) : fragile(number) {}

 public:
  Fragile fragile;
};

TEST(FailingHeap, MakeShared) {
  fail_everywhere(1, [] { heapwright::make_shared_private<Private>(1); });
  fail_everywhere(1, [] { heapwright::make_shared_weakly_held<Fragile>(1); });
}

TEST(FailingHeap, MakeSharedPooled) {
  throw_from_each_constructor(1, [] { heapwright::make_shared_pooled<Fragile>(1); });
  std::vector<std::shared_ptr<std::array<int, 50>>> held;
  held.reserve(2);
  held.push_back(heapwright::make_shared_pooled<std::array<int, 50>>());
  const heapwright::heap_failures every(1);
  EXPECT_THROW((heapwright::make_shared_pooled<std::array<int, 50>>()), std::bad_alloc);
  held.pop_back();
  held.push_back(heapwright::make_shared_pooled<std::array<int, 50>>());  // the block of the first
}

template <class Make>
std::uint64_t allocations_of(Make make) {
  make();
  heap_budget budget(heap_limits{});
  const auto made = make();
  budget.close();
  return budget.usage().allocations;
}

struct Plain {
  std::array<char, 200> bytes{};
};
struct Large {
  std::array<char, 100000> bytes{};
};
class PlainPrivate {
  friend class heapwright::private_access;
  PlainPrivate() = default;
  ~PlainPrivate() = default;
  [[maybe_unused]] std::array<char, 200> bytes{};
};

TEST(FailingHeap, SharedObjectsTakeAsManyBlocksAsTheySay) {
  EXPECT_EQ(allocations_of([] { return std::shared_ptr<Plain>(new Plain); }), 2U) << "what is to be avoided";
  EXPECT_EQ(allocations_of([] { return heapwright::make_shared_private<PlainPrivate>(); }), 1U);
  EXPECT_EQ(allocations_of([] { return heapwright::make_shared_weakly_held<Plain>(); }), 1U);
  EXPECT_EQ(allocations_of([] { return heapwright::make_shared_weakly_held<Large>(); }), 2U);
  EXPECT_EQ(allocations_of([] { return heapwright::make_shared_pooled<Plain>(); }), 0U) << "reused";
}

struct Order : heapwright::class_heap<Order> {
  Fragile fragile;
};

TEST(FailingHeap, ClassHeap) {
  fail_everywhere(2, [] {
    const auto first = std::make_unique<Order>();
    const auto second = std::make_unique<Order>();
  });
  EXPECT_EQ(Order::heap_statistics().live_objects, 0U);
  EXPECT_EQ(Order::heap_statistics().live_bytes, 0U);
  const heapwright::heap_failures every(1);
  struct alignas(128) Wide : heapwright::class_heap<Wide> {
    int number = 0;
  };
  EXPECT_THROW(delete new Wide, std::bad_alloc);
  EXPECT_EQ(new (std::nothrow) Wide, nullptr);
  EXPECT_EQ(Wide::heap_statistics().total_objects, 0U);
}

// In a new thread, whose own state of each part is not made yet. The C library
// ends a program whose destructor of a thread_local object finds no memory to
// be registered with.
template <class Use>
void in_a_thread_without_memory(Use use) {
  std::thread([&use] {
    const heapwright::heap_failures every(1);
    use();
  }).join();
}

TEST(FailingHeap, AThreadsFirstScratchThrows) {
  in_a_thread_without_memory([] {
    const heapwright::scratch s;
    EXPECT_THROW(s->allocate(100), std::bad_alloc);
  });
}

TEST(FailingHeap, AThreadsFirstBufferGoesBack) {
  using buffers = heapwright::thread_buffer_cache<struct tag_of_this_test>;
  std::byte* made_here = buffers::allocate(100);
  in_a_thread_without_memory([&] {
    buffers::release(made_here);
    EXPECT_EQ(buffers::allocate(100), made_here) << "kept by the thread that has no memory";
    EXPECT_THROW(buffers::allocate(200), std::bad_alloc);
    buffers::release(made_here);
  });
}

TEST(FailingHeap, AThreadsFirstDeferredObjectIsFreedAtOnce) {
  auto object = std::shared_ptr<Fragile>(new Fragile(1), heapwright::deferring_deleter{});
  std::weak_ptr<Fragile> watch = object;
  std::thread([&] {
    {
      const heapwright::heap_failures every(1);
      EXPECT_EQ(heapwright::deferred_free::of_thread(), nullptr);
      object.reset();
      EXPECT_TRUE(watch.expired());
    }
    ASSERT_NE(heapwright::deferred_free::of_thread(), nullptr) << "memory is back";
    EXPECT_EQ(heapwright::deferred_free::of_thread()->statistics().deferred, 0U);
  }).join();
}

// What is dropped while the thread's queue ends is freed without one.
TEST(FailingHeap, AThreadsEndMakesNoQueue) {
  static int ended = 0;
  struct AsksForAQueue {
    ~AsksForAQueue() {
      heap_budget allocations({.allocations = 0});
      EXPECT_EQ(heapwright::deferred_free::of_thread(), nullptr);
      EXPECT_EQ(allocations.message(), "");
      ++ended;
    }
  };
  std::thread([] { heapwright::deferred_free::of_thread()->defer(new AsksForAQueue); }).join();
  EXPECT_EQ(ended, 1);
}

TEST(FailingHeap, AThreadsFirstPooledPointerGoesBack) {
  auto made_here = heapwright::make_shared_pooled<std::array<int, 60>>();
  in_a_thread_without_memory([&] {
    made_here.reset();
    made_here = heapwright::make_shared_pooled<std::array<int, 60>>();  // the block of the first
    EXPECT_THROW((heapwright::make_shared_pooled<std::array<int, 60>>()), std::bad_alloc);
  });
}

TEST(FailingHeap, AThreadsFirstPoolObjectGoesBack) {
  heapwright::shared_object_pool<Request> pool({.max_idle = 8});
  auto made_here = pool.acquire();
  in_a_thread_without_memory([&] {
    made_here.reset();
    EXPECT_THROW(pool.acquire(), std::bad_alloc);
  });
  EXPECT_TRUE(pool.has_all_back());
  EXPECT_EQ(pool.statistics().acquired, 1U);
}

TEST(FailingHeap, AThreadsFirstObjectOfAClassThrows) {
  in_a_thread_without_memory([] { EXPECT_THROW(delete new Order, std::bad_alloc); });
  EXPECT_EQ(Order::heap_statistics().live_objects, 0U);
}

}  // namespace
