// SPDX-License-Identifier: MIT
// Compiled three times: over the global operator new, with a small heap behind the
// weak functions (HEAPWRIGHT_TEST_OWN_HEAP), and with heapwright's allocator linked
// (HEAPWRIGHT_TEST_LINKED_HEAP).
#include "heapwright/class_heap.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#if defined(HEAPWRIGHT_TEST_OWN_HEAP)
struct heapwright_heap {
  const char* name;
  std::atomic<long> live;
};
namespace {
std::atomic<long> heap_blocks{0};
constexpr bool has_own_heap = true;
}  // namespace
extern "C" {
heapwright_heap* heapwright_heap_create(const char* name) noexcept {
  static heapwright_heap heaps[16];
  static std::atomic<std::size_t> used{0};
  heapwright_heap* heap = &heaps[used++];
  heap->name = name;
  return heap;
}
void* heapwright_heap_allocate(heapwright_heap* heap, std::size_t bytes, std::size_t alignment) noexcept {
  ++heap->live;
  ++heap_blocks;
  return std::aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
}
void heapwright_heap_free(heapwright_heap* heap, void* block) noexcept {
  --heap->live;
  --heap_blocks;
  std::free(block);
}
void heapwright_heap_destroy(heapwright_heap*) noexcept {}
}
#elif defined(HEAPWRIGHT_TEST_LINKED_HEAP)
#include "heapwright/heap.h"
namespace {
constexpr bool has_own_heap = true;
}
#else
namespace {
constexpr bool has_own_heap = false;
}
#endif

namespace {

struct Order : heapwright::class_heap<Order> {
  virtual ~Order() = default;
  int number = 0;
};
struct LargeOrder : Order {
  char more[500] = {};
};
struct alignas(128) Aligned : heapwright::class_heap<Aligned> {
  char bytes[200] = {};
};
struct Throws : heapwright::class_heap<Throws> {
  Throws() { throw std::runtime_error("never made"); }
};

std::uint64_t live() { return Order::heap_statistics().live_objects; }

TEST(ClassHeap, UsesTheHeapThatIsThere) {
  EXPECT_EQ(Order::has_own_heap(), has_own_heap);
#if defined(HEAPWRIGHT_TEST_OWN_HEAP)
  const long before = heap_blocks;
  const auto order = std::make_unique<Order>();
  EXPECT_EQ(heap_blocks, before + 1);
#endif
}

#if defined(HEAPWRIGHT_TEST_LINKED_HEAP)
// A slab is 64 KiB at a multiple of its size, and belongs to one heap.
TEST(ClassHeap, SharesNoSlabWithTheGlobalHeap) {
  const auto slab_of = [](const void* block) { return reinterpret_cast<std::uintptr_t>(block) >> 16; };
  std::vector<std::unique_ptr<Order>> orders;
  std::vector<std::unique_ptr<char[]>> others;
  std::set<std::uintptr_t> slabs;
  for (int i = 0; i < 5000; ++i) {
    slabs.insert(slab_of(orders.emplace_back(std::make_unique<Order>()).get()));
    others.push_back(std::make_unique<char[]>(sizeof(Order)));
  }
  for (const auto& other : others) EXPECT_FALSE(slabs.contains(slab_of(other.get())));
  orders.clear();
  EXPECT_EQ(heapwright_heap_is_valid(), 1);
}
#endif

TEST(ClassHeap, CountsLivePeakAndTotal) {
  const auto before = Order::heap_statistics();
  Order::reset_heap_peak();
  {
    std::vector<std::unique_ptr<Order>> orders;
    for (int i = 0; i < 100; ++i) orders.push_back(std::make_unique<Order>());
    EXPECT_EQ(live(), before.live_objects + 100);
  }
  const auto after = Order::heap_statistics();
  EXPECT_EQ(after.live_objects, before.live_objects);
  EXPECT_EQ(after.peak_objects, before.live_objects + 100);
  EXPECT_EQ(after.total_objects, before.total_objects + 100);
  EXPECT_EQ(after.live_bytes, before.live_bytes);
}

TEST(ClassHeap, HandlesDerivedSizes) {
  const auto before = Order::heap_statistics();
  std::unique_ptr<Order> base = std::make_unique<LargeOrder>();
  EXPECT_EQ(Order::heap_statistics().live_bytes, before.live_bytes + sizeof(LargeOrder));
  base.reset();
  EXPECT_EQ(Order::heap_statistics().live_bytes, before.live_bytes);
}

TEST(ClassHeap, AlignsOveralignedClasses) {
  std::vector<std::unique_ptr<Aligned>> objects;
  for (int i = 0; i < 20; ++i) {
    objects.push_back(std::make_unique<Aligned>());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(objects.back().get()) % 128, 0U);
  }
  objects.clear();
  EXPECT_EQ(Aligned::heap_statistics().live_objects, 0U);
}

TEST(ClassHeap, TakesBackAfterAThrowingConstructor) {
  const auto made_before = Throws::heap_statistics().total_objects;
  EXPECT_THROW(static_cast<void>(std::make_unique<Throws>()), std::runtime_error);
  EXPECT_THROW(static_cast<void>(new (std::nothrow) Throws), std::runtime_error);
  EXPECT_EQ(Throws::heap_statistics().live_objects, 0U);
  EXPECT_EQ(Throws::heap_statistics().total_objects, made_before + 2);
}

TEST(ClassHeap, LeavesArraysAndPlacementAlone) {
  const auto before = live();
  delete[] new Order[3];
  alignas(Order) char room[sizeof(Order)];
  (new (room) Order)->~Order();
  EXPECT_EQ(live(), before);
}

TEST(ClassHeap, AnyThreadAllocatesAndFrees) {
  std::vector<Order*> made(4000);
  const auto before = live();
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&made, t] {
      for (std::size_t i = t * 1000; i < t * 1000 + 1000; ++i) made[i] = new Order;
    });
  }
  for (int i = 0; i < 100; ++i) {
    const auto now = Order::heap_statistics();
    EXPECT_LE(now.live_objects, before + 4000);
    Order::reset_heap_peak();
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(live(), before + 4000);
  std::thread([&] {
    for (const Order* order : made) delete order;
  }).join();
  EXPECT_EQ(live(), before);
}

#if defined(HEAPWRIGHT_TEST_OWN_HEAP)
TEST(ClassHeap, AThreadsEndGivesBackTheBlocksThatItKept) {
  const long before = heap_blocks;
  std::thread([&] {
    std::vector<std::unique_ptr<Order>> orders(10);
    for (auto& order : orders) order = std::make_unique<Order>();
    orders.clear();
  }).join();
  EXPECT_EQ(heap_blocks, before);
}
#endif

}  // namespace
