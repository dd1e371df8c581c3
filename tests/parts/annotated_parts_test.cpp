// SPDX-License-Identifier: MIT
// Compiled with HEAPWRIGHT_ANNOTATE=1, with a recorder played by this file: it
// keeps every pool and block by what it was told, and takes no contradiction.
#include <gtest/gtest.h>

#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "heapwright/annotate.h"
#include "heapwright/arena.hpp"
#include "heapwright/buffer_cache.hpp"
#include "heapwright/class_heap.hpp"
#include "heapwright/make_shared_private.hpp"
#include "heapwright/node_pool.hpp"
#include "heapwright/object_pool.hpp"
#include "heapwright/shared_object_pool.hpp"

namespace {

struct Pool {
  std::string name;
  std::map<const void*, std::size_t> blocks;
};
std::mutex mutex;
std::map<const void*, Pool> pools;
std::vector<std::string> contradictions;

// Bytes live in the pools of this name, and in how many of them.
struct Told {
  std::size_t pools = 0;
  std::size_t blocks = 0;
  std::size_t bytes = 0;
  bool operator==(const Told&) const = default;
};
[[maybe_unused]] std::ostream& operator<<(std::ostream& to, const Told& told) {
  return to << told.pools << " pools, " << told.blocks << " blocks, " << told.bytes << " bytes";
}
// As the compiler writes an unnamed namespace.
#ifdef __clang__
const std::string anonymous = "(anonymous namespace)";
#else
const std::string anonymous = "{anonymous}";
#endif

Told told_of(const std::string& name) {
  const std::scoped_lock lock(mutex);
  Told told;
  for (const auto& [address, pool] : pools) {
    if (pool.name != name) continue;
    ++told.pools;
    told.blocks += pool.blocks.size();
    for (const auto& [block, bytes] : pool.blocks) told.bytes += bytes;
  }
  return told;
}

void require(bool is_true, const char* what) {
  if (!is_true) contradictions.emplace_back(what);
}

}  // namespace

extern "C" {
void heapwright_annotate_pool_create(const void* pool, const char* name) noexcept {
  const std::scoped_lock lock(mutex);
  require(pools.emplace(pool, Pool{name, {}}).second, "a pool is created twice");
}
void heapwright_annotate_pool_destroy(const void* pool) noexcept {
  const std::scoped_lock lock(mutex);
  require(pools.erase(pool) == 1, "a pool that never was is destroyed");
}
void heapwright_annotate_pool_allocate(const void* pool, const void* block, size_t bytes) noexcept {
  const std::scoped_lock lock(mutex);
  require(pools.contains(pool), "a block of a pool that is not");
  require(pools[pool].blocks.emplace(block, bytes).second, "a block is taken twice");
}
void heapwright_annotate_pool_free(const void* pool, const void* block) noexcept {
  const std::scoped_lock lock(mutex);
  require(pools.contains(pool), "a block goes back to a pool that is not");
  require(pools[pool].blocks.erase(block) == 1, "a block that was not taken goes back");
}
void heapwright_annotate_phase_begin(const char*) noexcept {}
void heapwright_annotate_phase_end(const char*) noexcept {}
void heapwright_annotate_region(const void*, size_t, const char*) noexcept {}
}

namespace {

class AnnotatedParts : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(contradictions, std::vector<std::string>{}); }
};

TEST_F(AnnotatedParts, AnArenaTellsOfBlocksRewindAndReset) {
  {
    heapwright::arena memory({.first_block_bytes = 256, .name = "requests"});
    EXPECT_EQ(told_of("requests"), (Told{1, 0, 0}));
    memory.allocate(40);
    memory.allocate(3, 1);
    const auto here = memory.mark();
    for (int i = 0; i < 50; ++i) memory.create<std::string>("text");
    memory.allocate(100000, 64);
    EXPECT_EQ(told_of("requests"), (Told{1, 53, 100043 + 50 * sizeof(std::string)}));
    EXPECT_EQ(memory.usage().requested_bytes, 100043 + 50 * sizeof(std::string));
    memory.rewind(here);
    EXPECT_EQ(told_of("requests"), (Told{1, 2, 43}));
    memory.reset();
    EXPECT_EQ(told_of("requests"), (Told{1, 0, 0}));
    memory.allocate(7);
    EXPECT_EQ(told_of("requests"), (Told{1, 1, 7}));
    EXPECT_THROW(memory.allocate(SIZE_MAX), std::bad_alloc);
    EXPECT_THROW(memory.allocate(SIZE_MAX - 3, 64), std::bad_alloc);
  }
  EXPECT_EQ(told_of("requests").pools, 0U);
}

TEST_F(AnnotatedParts, BlocksOfAnAnnotatedArenaAreAligned) {
  heapwright::arena memory;
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (const std::size_t bytes : {1U, 24U, 5000U, 40000U}) {
      const auto address = reinterpret_cast<std::uintptr_t>(memory.allocate(bytes, alignment));
      EXPECT_EQ(address % alignment, 0U);
    }
  }
}

TEST_F(AnnotatedParts, AScratchIsAnArenaOfItsThread) {
  std::thread([] {
    {
      const heapwright::scratch outer;
      outer->allocate(10);
      {
        const heapwright::scratch inner;
        inner->allocate(20);
        EXPECT_EQ(told_of("scratch").bytes, 30U);
      }
      EXPECT_EQ(told_of("scratch").bytes, 10U);
    }
    EXPECT_EQ(told_of("scratch"), (Told{2, 0, 0}));
  }).join();
  EXPECT_EQ(told_of("scratch").pools, 0U);
}

TEST_F(AnnotatedParts, ANodePoolTellsOfNodesAndTheirEnd) {
  heapwright::node_pool pool({.name = "nodes"});
  {
    std::list<int, heapwright::node_allocator<int>> list(pool);
    for (int i = 0; i < 1000; ++i) list.push_back(i);
    EXPECT_EQ(told_of("nodes"), (Told{1, 1000, 24000}));
    for (int i = 0; i < 400; ++i) list.pop_front();
    EXPECT_EQ(told_of("nodes"), (Told{1, 600, 14400}));
    pool.deallocate(pool.allocate(5000), 5000);
  }
  EXPECT_EQ(told_of("nodes"), (Told{1, 0, 0}));
  pool.allocate(30);
  pool.release();
  EXPECT_EQ(told_of("nodes"), (Told{1, 0, 0}));
}

TEST_F(AnnotatedParts, APooledContainerHasItsTypesName) {
  using Set = std::set<short, std::less<>, heapwright::node_allocator<short>>;
  heapwright::pooled<Set> set;
  set->insert(1);
  set.clear();
  set->insert(2);
  const std::scoped_lock lock(mutex);
  const auto& [address, pool] = *pools.begin();
  EXPECT_EQ(pools.size(), 1U);
  EXPECT_EQ(pool.name.find("std::set<short"), 0U) << pool.name;
  EXPECT_EQ(pool.blocks.size(), 1U);
}

struct Order : heapwright::class_heap<Order> {
  int number = 0;
};
TEST_F(AnnotatedParts, AClassHeapTellsOfObjectsThatItsThreadKeeps) {
  std::vector<std::unique_ptr<Order>> orders;
  for (int i = 0; i < 100; ++i) orders.push_back(std::make_unique<Order>());
  EXPECT_EQ(told_of(anonymous + "::Order"), (Told{1, 100, 100 * sizeof(Order)}));
  orders.resize(30);
  EXPECT_EQ(told_of(anonymous + "::Order"), (Told{1, 30, 30 * sizeof(Order)}));
  std::thread([&] { orders.clear(); }).join();
  EXPECT_EQ(told_of(anonymous + "::Order"), (Told{1, 0, 0}));
  const std::scoped_lock lock(mutex);
  pools.clear();  // this one lasts
}

struct AnnotatedRequest {
  std::string path;
  static constexpr auto pool_members = heapwright::members(&AnnotatedRequest::path);
};
TEST_F(AnnotatedParts, ObjectPoolsTellWhoIsOut) {
  heapwright::object_pool<AnnotatedRequest> pool({.max_idle = 4});
  heapwright::shared_object_pool<AnnotatedRequest> shared({.max_idle = 4, .name = "shared"});
  {
    const auto first = pool.acquire();
    auto second = shared.acquire();
    EXPECT_EQ(told_of(anonymous + "::AnnotatedRequest"), (Told{1, 1, sizeof(AnnotatedRequest)}));
    EXPECT_EQ(told_of("shared"), (Told{1, 1, sizeof(AnnotatedRequest)}));
    second.reset();
    second = shared.acquire();
    EXPECT_EQ(told_of("shared"), (Told{1, 1, sizeof(AnnotatedRequest)}));
  }
  EXPECT_EQ(told_of(anonymous + "::AnnotatedRequest"), (Told{1, 0, 0}));
  EXPECT_EQ(told_of("shared"), (Told{1, 0, 0}));
}

TEST_F(AnnotatedParts, ABufferCacheTellsOfBuffersThatAreLent) {
  {
    heapwright::buffer_cache<> cache({.total_bytes = 1 << 20, .buffers = 16}, "buffers");
    {
      const auto first = cache.acquire(1000);
      auto second = cache.acquire(300);
      EXPECT_EQ(told_of("buffers"), (Told{1, 2, 1300}));
      second = {};
      second = cache.acquire(200);
      EXPECT_EQ(told_of("buffers"), (Told{1, 2, 1200}));
    }
    EXPECT_EQ(told_of("buffers"), (Told{1, 0, 0}));
  }
  EXPECT_EQ(told_of("buffers").pools, 0U);
}

TEST_F(AnnotatedParts, ABufferComesBackToTheCacheOfAnotherThread) {
  using Cache = heapwright::thread_buffer_cache<struct annotated>;
  std::byte* lent = Cache::allocate(500);
  const auto told = [] {
    const std::scoped_lock lock(mutex);
    for (const auto& [address, pool] : pools) {
      if (pool.name.find("thread_buffer_cache<") != std::string::npos) return pool.blocks.size();
    }
    return std::size_t{99};
  };
  EXPECT_EQ(told(), 1U);
  std::thread([&] { Cache::release(lent); }).join();
  EXPECT_EQ(told(), 0U);
  const std::scoped_lock lock(mutex);
  pools.clear();  // this one lasts
}

struct Shared {
  int number = 0;
};
TEST_F(AnnotatedParts, SharedObjectsHaveTheirTypesName) {
  auto first = heapwright::make_shared_pooled<Shared>();
  auto second = heapwright::make_shared_pooled<Shared>();
  EXPECT_EQ(told_of(anonymous + "::Shared").blocks, 2U);
  EXPECT_GE(told_of(anonymous + "::Shared").bytes, 2 * sizeof(Shared));
  first.reset();
  first = heapwright::make_shared_pooled<Shared>();
  EXPECT_EQ(told_of(anonymous + "::Shared").blocks, 2U);
  std::thread([&] { first.reset(); }).join();
  second.reset();
  EXPECT_EQ(told_of(anonymous + "::Shared"), (Told{1, 0, 0}));
  const std::scoped_lock lock(mutex);
  pools.clear();  // this one lasts
}

}  // namespace
