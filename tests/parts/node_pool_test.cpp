// SPDX-License-Identifier: MIT
// length: the pool and what it asks upstream and the kernel for
#include "heapwright/node_pool.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "throwing_value.hpp"

namespace {

using heapwright::node_allocator;
using heapwright::node_pool;
using heapwright::node_pool_options;
using heapwright::pooled;

// Counts what it gave; throws when the countdown says so.
class CountingUpstream : public std::pmr::memory_resource {
 public:
  std::size_t most_alignment = 0;
  std::size_t live_bytes = 0;
  std::size_t live_blocks = 0;
  std::size_t most_bytes = 0;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    parts_test::Countdown::pass();
    ++live_blocks;
    most_alignment = std::max(most_alignment, alignment);
    live_bytes += bytes;
    most_bytes = std::max(most_bytes, live_bytes);
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* first, std::size_t bytes, std::size_t alignment) override {
    --live_blocks;
    live_bytes -= bytes;
    std::pmr::new_delete_resource()->deallocate(first, bytes, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

// A heap that gives one block behind the other, none twice, and says how large each was.
class HeapInOrder : public std::pmr::memory_resource {
 public:
  std::vector<std::size_t> asked;
  HeapInOrder(std::size_t start, std::size_t gap_bytes) : at_(start), gap_bytes_(gap_bytes) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t) override {
    std::byte* first = &memory_[at_];
    at_ += bytes + gap_bytes_;
    if (at_ > memory_.size()) throw std::bad_alloc();
    asked.push_back(bytes);
    return first;
  }
  void do_deallocate(void*, std::size_t, std::size_t) override {}
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::vector<std::byte> memory_ = std::vector<std::byte>(16 << 20);
  std::size_t at_;
  std::size_t gap_bytes_;
};

// Else the counts of a program that does the same differ from run to run, and no budget holds.
TEST(NodePool, AsksForTheSameWhereverItsMemoryLies) {
  const auto asked = [](std::size_t start, std::size_t gap_bytes) {
    HeapInOrder heap(start, gap_bytes);
    node_pool pool({.upstream = &heap});
    for (int i = 0; i < 100000; ++i) static_cast<void>(pool.allocate(40, 8));
    return heap.asked;
  };
  const auto first = asked(0, 16);
  for (std::size_t start = 1008; start < 16384; start += 1008) EXPECT_EQ(asked(start, 16), first);
  for (std::size_t gap = 32; gap < 16384; gap += 2032) EXPECT_EQ(asked(0, gap), first);
}

TEST(NodePool, LargePoolsHaveLargeSpans) {
  CountingUpstream upstream;
  node_pool pool({.upstream = &upstream});
  for (int i = 0; i < 1000000; ++i) static_cast<void>(pool.allocate(48, 8));
  EXPECT_LE(upstream.live_bytes, 1000000UL * 48 * 108 / 100) << "a page of each span, and a 16th at the end";
}

// Blocks of random sizes, which keep what was written to them.
class MarkedBlocks {
 public:
  explicit MarkedBlocks(node_pool& pool, unsigned seed) : pool_(pool), random_(seed) {}

  void step() { random_() % 5 < 2 && !given_.empty() ? free_one() : take_one(); }
  std::size_t size() const { return given_.size(); }
  void free_all() {
    while (!given_.empty()) free_one();
  }

 private:
  struct Given {
    std::size_t bytes;
    std::size_t alignment;
    unsigned char mark;
  };

  void free_one() {
    auto it = given_.lower_bound(reinterpret_cast<unsigned char*>(std::uintptr_t{random_()} << 16));
    if (it == given_.end()) it = given_.begin();
    for (std::size_t b = 0; b < it->second.bytes; ++b) ASSERT_EQ(it->first[b], it->second.mark);
    pool_.deallocate(it->first, it->second.bytes, it->second.alignment);
    given_.erase(it);
  }
  void take_one() {
    const std::size_t bytes = random_() % 20 == 0 ? random_() % 5000 : random_() % 600;
    const std::size_t alignment = std::size_t{1} << random_() % 7;
    auto* first = static_cast<unsigned char*>(pool_.allocate(bytes, alignment));
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(first) % alignment, 0U);
    std::memset(first, ++mark_, bytes);
    ASSERT_TRUE(given_.emplace(first, Given{bytes, alignment, mark_}).second);
  }

  node_pool& pool_;
  std::mt19937 random_;
  std::map<unsigned char*, Given> given_;
  unsigned char mark_ = 0;
};

TEST(NodePool, GivesAlignedBlocksThatDoNotOverlap) {
  CountingUpstream upstream;
  {
    node_pool pool({.page_bytes = 4096, .upstream = &upstream});
    MarkedBlocks blocks(pool, 3);
    for (int i = 0; i < 20000; ++i) {
      blocks.step();
      ASSERT_EQ(pool.statistics().retained_bytes, upstream.live_bytes);
    }
    const auto s = pool.statistics();
    EXPECT_EQ(s.live_blocks + s.large_blocks, blocks.size());
  }
  EXPECT_EQ(upstream.live_bytes, 0U);
}

using NumberList = std::list<int, node_allocator<int>>;

std::uintptr_t page_of(const void* block) { return reinterpret_cast<std::uintptr_t>(block) / 16384; }

TEST(NodePool, SmallContainersOfATypeShareTheirPages) {
  std::vector<std::unique_ptr<pooled<NumberList>>> all;
  std::set<std::uintptr_t> pages;
  for (int i = 0; i < 120; ++i) {
    all.push_back(std::make_unique<pooled<NumberList>>());
    for (int j = 0; j < 10; ++j) (*all.back())->push_back(j);
    pages.insert(page_of(&(*all.back())->front()));
    EXPECT_LE(all.back()->statistics().retained_bytes, 1000U);
  }
  EXPECT_LE(pages.size(), 5U) << "30 in each";
  for (std::size_t i = 0; i < all.size(); i += 2) all[i].reset();
  for (std::size_t i = 0; i < all.size(); i += 2) {
    all[i] = std::make_unique<pooled<NumberList>>();
    (*all[i])->push_back(1);
    EXPECT_TRUE(pages.contains(page_of(&(*all[i])->front()))) << "where others were before";
  }
  pooled<NumberList> alone({.upstream = std::pmr::new_delete_resource()});
  alone->push_back(1);
  EXPECT_FALSE(pages.contains(page_of(&alone->front())));
}

TEST(NodePool, BucketsOfASmallTableTakeNoPage) {
  using Table = std::unordered_set<int, std::hash<int>, std::equal_to<>, node_allocator<int>>;
  pooled<Table> table;
  for (int i = 0; i < 20; ++i) table->insert(i);
  EXPECT_EQ(table.statistics().pages, 1U);
  EXPECT_EQ(table.statistics().large_blocks, 1U);
  table.clear();
  EXPECT_EQ(table.statistics().retained_bytes, 0U);
}

// In parts of shared pages, and behind them in whole ones.
TEST(NodePool, PartsAndPagesOfTwoContainersDoNotOverlap) {
  pooled<NumberList> one;
  pooled<NumberList> other;
  MarkedBlocks in_one(one.pool(), 4);
  MarkedBlocks in_other(other.pool(), 5);
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 300 * round; ++i) {
      in_one.step();
      in_other.step();
    }
    const auto s = one.statistics();
    EXPECT_EQ(s.live_blocks + s.large_blocks, in_one.size());
    in_one.free_all();
    one.pool().shrink();
    EXPECT_EQ(one.statistics().retained_bytes, 0U);
  }
  in_other.free_all();
}

TEST(NodePool, ContainersOfATypeLiveInManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      std::deque<pooled<NumberList>> kept;
      for (int i = 0; i < 2000; ++i) {
        auto& mine = kept.emplace_back();
        for (int j = 0; j < i % 40; ++j) mine->push_back(t);
        if (kept.size() < 20) continue;
        for (const int number : *kept.front()) ASSERT_EQ(number, t);
        kept.pop_front();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(NodePool, GivesWholePagesBack) {
  CountingUpstream upstream;
  node_pool pool({.upstream = &upstream});
  std::vector<void*> blocks(100000);
  for (void*& block : blocks) block = pool.allocate(40, 8);
  const std::size_t most = upstream.live_bytes;
  EXPECT_LE(pool.statistics().pages * 16384, 100000U * 40 * 102 / 100) << "2 % for headers and ends";
  EXPECT_LE(most, 100000U * 40 * 122 / 100) << "and one page of each span, which nothing touches";
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i % 10000 >= 2000) pool.deallocate(blocks[i], 40, 8);
  }
  EXPECT_LE(pool.statistics().pages * 16384, 100000U * 40 * 24 / 100) << "runs of freed nodes";
  EXPECT_LT(upstream.live_bytes, most * 6 / 10) << "whole spans of these";
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i % 10000 < 2000) pool.deallocate(blocks[i], 40, 8);
  }
  EXPECT_LE(pool.statistics().pages, 2U) << "that of the last block, and one for the next nodes";
  EXPECT_LE(upstream.live_blocks, 4U) << "their spans, one for the next pages, and what a size is kept in";
  EXPECT_EQ(pool.statistics().live_blocks, 0U);
  void* again = pool.allocate(40, 8);
  void* second = pool.allocate(40, 8);
  std::memset(again, 1, 40);
  std::memset(second, 1, 40);
  pool.shrink();
  EXPECT_LE(pool.statistics().pages, 2U) << "in use again, and no other";
  EXPECT_EQ(pool.statistics().live_blocks, 2U);
  pool.deallocate(second, 40, 8);
  pool.deallocate(again, 40, 8);
  pool.shrink();
  EXPECT_EQ(upstream.live_bytes, 0U);
  EXPECT_EQ(pool.statistics().idle_pages, 0U);
  for (const std::size_t bytes : {1U, 40U, 504U, 512U}) {
    void* one = pool.allocate(bytes, 1);
    EXPECT_EQ(pool.statistics().live_bytes, (bytes + 7) / 8 * 8);
    pool.deallocate(one, bytes, 1);
  }
  pool.shrink();  // pages with a block that came back last, and others ready
  EXPECT_EQ(upstream.live_bytes, 0U);
}

// One by one: a span that went back upstream may be mapped no more, in part or whole.
std::size_t resident_pages(void* first, std::size_t bytes) {
  std::size_t resident = 0;
  for (std::size_t at = 0; at < bytes; at += 4096) {
    unsigned char page = 0;
    const bool is_mapped = mincore(static_cast<char*>(first) + at, 4096, &page) == 0;
    if (!is_mapped) {
      EXPECT_EQ(errno, ENOMEM);
    }
    resident += is_mapped && (page & 1) != 0 ? 1 : 0;
  }
  return resident;
}

// As on a kernel whose pages are larger than the pool's: it rounds up what it is given.
TEST(NodePool, GivesTheKernelNothingOfOthers) {
  constexpr std::size_t page_bytes = 2048;
  heapwright::detail::node_spans spans(std::pmr::new_delete_resource(), page_bytes, true);
  std::vector<heapwright::detail::node_spans::taken> all(60);
  for (auto& one : all) {
    one = spans.take();
    std::memset(one.page, 3, page_bytes);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % 3 != 0) spans.give(all[i].page, all[i].span);
  }
  spans.shrink();
  for (std::size_t i = 0; i < all.size(); i += 3) {
    const auto* bytes = static_cast<const unsigned char*>(all[i].page);
    for (std::size_t at = 0; at < page_bytes; ++at) ASSERT_EQ(bytes[at], 3) << at << " of page " << i;
    spans.give(all[i].page, all[i].span);
  }
  spans.shrink();
  EXPECT_EQ(spans.retained_bytes(), 0U);
}

// A block of every page stays, then one of every fourth page: no span is empty, and most pages are.
TEST(NodePool, ThePagesOfASpanInUseGoBackToTheKernel) {
  node_pool pool;
  const std::size_t of_a_page = (16384 - sizeof(heapwright::detail::node_page)) / 512;
  const std::size_t pages = 1000;
  std::vector<void*> blocks(pages * of_a_page);
  std::set<std::byte*> starts;
  for (void*& block : blocks) {
    block = pool.allocate(512, 8);
    std::memset(block, 1, 512);
    starts.insert(
        reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(block) & ~std::uintptr_t{16383}));
  }
  EXPECT_EQ(starts.size(), pages);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    // Of the second span, which has three pages, one as well: what goes back upstream is not looked at here.
    const bool stays = i % (4 * of_a_page) == 0 || i == of_a_page;
    if (!stays) pool.deallocate(blocks[i], 512, 8);
  }
  EXPECT_LE(pool.statistics().pages, pages / 4 + 1);
  EXPECT_LE(pool.statistics().idle_pages, 2 * pool.statistics().pages);
  std::size_t resident = 0;
  for (std::byte* start : starts) resident += resident_pages(start, 16384);
  EXPECT_LE(resident, 3 * 4 * pool.statistics().pages);
  for (std::size_t i = 0; i < blocks.size(); i += 4 * of_a_page) EXPECT_EQ(*static_cast<char*>(blocks[i]), 1);
  pool.shrink();
  EXPECT_EQ(pool.statistics().idle_pages, 0U);
  resident = 0;
  for (std::byte* start : starts) resident += resident_pages(start, 16384);
  EXPECT_LE(resident, 4 * pool.statistics().pages);
  std::vector<void*> again(pages * of_a_page / 2);
  for (void*& block : again) {
    block = pool.allocate(512, 8);
    std::memset(block, 2, 512);
  }
  for (std::size_t i = 0; i < blocks.size(); i += 4 * of_a_page) EXPECT_EQ(*static_cast<char*>(blocks[i]), 1);
}

// glibc's heap would leave holes that it cannot use again.
TEST(NodePool, AsksUpstreamForNoAlignment) {
  CountingUpstream upstream;
  node_pool pool({.upstream = &upstream});
  for (int i = 0; i < 100000; ++i) static_cast<void>(pool.allocate(40, 8));
  EXPECT_LE(upstream.most_alignment, 16U);
}

TEST(NodePool, ServesContainers) {
  CountingUpstream upstream;
  node_pool pool({.upstream = &upstream});
  {
    using Pair = std::pair<const int, std::string>;
    std::map<int, std::string, std::less<>, node_allocator<Pair>> map(pool);
    std::unordered_map<int, std::string, std::hash<int>, std::equal_to<>, node_allocator<Pair>> table(pool);
    std::list<int, node_allocator<int>> list(pool);
    std::pmr::set<int> set(&pool);
    for (int i = 0; i < 5000; ++i) {
      map.emplace(i, "a text that is too long for the string itself");
      table.emplace(i, "text");
      list.push_back(i);
      set.insert(i);
    }
    const auto copy = map;
    auto moved = std::move(list);
    list = std::move(moved);
    EXPECT_EQ(copy.size() + table.size() + list.size() + set.size(), 20000U);
    EXPECT_GE(pool.statistics().live_blocks, 25000U);
  }
  EXPECT_EQ(pool.statistics().live_blocks + pool.statistics().large_blocks, 0U);
}

TEST(NodePool, ReleasesAContainerAtOnce) {
  CountingUpstream upstream;
  using Pair = std::pair<const int, int>;
  using Map = std::map<int, int, std::less<>, node_allocator<Pair>>;
  {
    pooled<Map> map({.upstream = &upstream});
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 10000; ++i) (*map)[i] = round;
      EXPECT_EQ(map.statistics().live_blocks, 10000U);
      map.clear();
      EXPECT_EQ(upstream.live_bytes, 0U);
      EXPECT_TRUE(map->empty());
    }
    (*map)[1] = 2;
  }
  EXPECT_EQ(upstream.live_bytes, 0U);
  {
    pooled<std::unordered_map<int, int, std::hash<int>, std::equal_to<>, node_allocator<Pair>>> table(
        {.upstream = &upstream});
    for (int i = 0; i < 10000; ++i) (*table)[i] = i;
  }
  EXPECT_EQ(upstream.live_bytes, 0U) << "its buckets as well";
}

TEST(NodePool, AMovableContainerTakesItsPoolAlong) {
  CountingUpstream upstream;
  using Numbers = std::list<int, node_allocator<int>>;
  using Movable = heapwright::movable_pooled<Numbers>;
  static_assert(std::is_nothrow_move_constructible_v<Movable> && std::is_nothrow_move_assignable_v<Movable>);
  static_assert(!std::is_copy_constructible_v<Movable> && !std::is_move_constructible_v<pooled<Numbers>>);
  {
    struct Holder {
      int number;
      Movable numbers;
    };
    std::vector<Holder> holders;
    for (int i = 0; i < 20; ++i) {
      holders.push_back({i, Movable({.upstream = &upstream})});
      holders.back().numbers->assign(100, i);
    }
    const int* first = &holders[3].numbers->front();
    std::swap(holders[3], holders[19]);
    EXPECT_EQ(&holders[19].numbers->front(), first);
    EXPECT_EQ(holders[19].number, holders[19].numbers->back());
    holders.erase(holders.begin(), holders.begin() + 10);
    EXPECT_EQ(holders[0].numbers->size(), 100U);
    EXPECT_EQ(Movable::totals().pools, 10U);

    Movable taken = std::move(holders[0].numbers);
    EXPECT_EQ(taken.statistics().live_blocks, 100U);
    holders[0].numbers.clear();
    EXPECT_TRUE(holders[0].numbers->empty());
    holders[0].numbers->push_back(7);
    holders[0].numbers = std::move(taken);
    EXPECT_EQ(std::as_const(holders[0].numbers)->size(), 100U);
    EXPECT_EQ(Movable::totals().pools, 10U);
  }
  EXPECT_EQ(upstream.live_bytes, 0U);
}

TEST(NodePool, DestroysElementsThatNeedIt) {
  using Value = parts_test::ThrowingValue<false>;
  const long live = Value::live;
  {
    pooled<std::list<Value, node_allocator<Value>>> list;
    for (int i = 0; i < 100; ++i) list->emplace_back(i);
    list.clear();
    EXPECT_EQ(Value::live, live);
    list->emplace_back(1);
  }
  EXPECT_EQ(Value::live, live);
}

// Compares, hashes, and lives or throws as it is told.
struct Functor {
  static inline bool throws = false;
  std::shared_ptr<int> lives = std::make_shared<int>(1);
  Functor() {
    if (throws) throw std::bad_alloc();
  }
  bool operator()(int a, int b) const { return a * *lives < b * *lives; }
  std::size_t operator()(int a) const { return static_cast<std::size_t>(a); }
};

TEST(NodePool, DestroysComparatorsAndHashes) {
  std::weak_ptr<int> seen[3];
  {
    pooled<std::set<int, Functor, node_allocator<int>>> set;
    pooled<std::unordered_set<int, Functor, std::equal_to<>, node_allocator<int>>> table;
    set->insert(1);
    table->insert(1);
    seen[0] = set->key_comp().lives;
    set.clear();
    EXPECT_TRUE(seen[0].expired());
    seen[1] = set->key_comp().lives;
    seen[2] = table->hash_function().lives;
    EXPECT_FALSE(seen[1].expired());
  }
  EXPECT_TRUE(seen[1].expired());
  EXPECT_TRUE(seen[2].expired());
}

TEST(NodePool, AClearThatThrowsEndsTheContainerOnce) {
  pooled<std::map<int, std::string, Functor, node_allocator<std::pair<const int, std::string>>>> map;
  map->emplace(1, "a text that is longer than any small string");
  Functor::throws = true;
  EXPECT_THROW(map.clear(), std::bad_alloc);
  EXPECT_THROW(map.clear(), std::bad_alloc);
  Functor::throws = false;
  EXPECT_EQ(map.statistics().live_blocks, 0U);
  map.clear();
  EXPECT_TRUE(map->empty());
  Functor::throws = true;
  EXPECT_THROW(map.clear(), std::bad_alloc);
  Functor::throws = false;
}

TEST(NodePool, SurvivesAnUpstreamThatThrows) {
  CountingUpstream upstream;
  {
    node_pool pool({.page_bytes = 4096, .upstream = &upstream});
    std::list<int, node_allocator<int>> list(pool);
    for (int i = 0; i < 300; ++i) list.push_back(i);
    parts_test::Countdown::left = 1;
    EXPECT_THROW(
        {
          for (int i = 0; i < 30000; ++i) list.push_back(i);
        },
        std::runtime_error);
    parts_test::Countdown::left = 1;
    EXPECT_THROW(static_cast<void>(pool.allocate(5000)), std::runtime_error);
    parts_test::Countdown::left = 0;
    list.push_back(1);
    EXPECT_GE(list.size(), 301U);
  }
  EXPECT_EQ(upstream.live_bytes, 0U);
}

// Elements go in at one end and out at the other: pages are filled again, and
// none is given back and taken anew.
TEST(NodePool, AQueueKeepsItsPages) {
  CountingUpstream upstream;
  node_pool pool({.page_bytes = 4096, .upstream = &upstream});
  std::list<int, node_allocator<int>> queue(pool);
  for (int i = 0; i < 1000; ++i) queue.push_back(i);
  const std::size_t pages = pool.statistics().pages;
  for (int i = 0; i < 100000; ++i) {
    queue.push_back(i);
    queue.pop_front();
  }
  EXPECT_EQ(pool.statistics().live_blocks, 1000U);
  EXPECT_LE(pool.statistics().pages, pages + 2);
  EXPECT_LE(upstream.most_bytes, 2 * (pages + 2) * 4096) << "the first spans double, and each leaves a page";
  queue.clear();
  pool.shrink();
  EXPECT_EQ(upstream.live_bytes, 0U);
}

TEST(NodePool, CountsByNameAndByContainerType) {
  using Numbers = NumberList;
  using Set = std::set<int, std::less<>, node_allocator<int>>;
  const pooled<Set> other;
  pooled<Numbers> first;
  for (int i = 0; i < 100; ++i) first->push_back(i);
  {
    pooled<Numbers> second;
    second->push_back(1);
    const auto both = pooled<Numbers>::totals();
    EXPECT_EQ(both.pools, 2U);
    EXPECT_EQ(both.sum.live_blocks, 101U);
    EXPECT_EQ(both.sum.retained_bytes,
              first.statistics().retained_bytes + second.statistics().retained_bytes);
    pooled<Numbers> named({.name = "orders"});
    named->push_back(1);
    EXPECT_EQ(pooled<Numbers>::totals().pools, 2U);
    EXPECT_EQ(node_pool::totals("orders").sum.live_blocks, 1U);
  }
  EXPECT_EQ(pooled<Numbers>::totals().pools, 1U);
  EXPECT_EQ(pooled<Set>::totals().pools, 1U);
  EXPECT_EQ(node_pool::totals("orders").pools, 0U);
}

}  // namespace
