// SPDX-License-Identifier: MIT
// Slabs of which others freed every block, while the thread that has them sleeps.
// length: every test needs the threads that sleep, and leaves one heap valid
#include "heap/threads/take_over.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../heap_programs/test_seed.hpp"
#include "heap/base/counting.hpp"
#include "heap/base/own_thread.hpp"
#include "heap/base/settings.hpp"
#include "heap/front/allocate.hpp"
#include "heap/pages/free_runs.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/service/maintenance.hpp"
#include "heap/service/process.hpp"
#include "heap/slabs/slab.hpp"
#include "heap/threads/cache_check.hpp"
#include "heap/threads/caches.hpp"
#include "heapwright/heap.h"
#include "no_maintenance.hpp"

namespace heapwright::heap {
namespace {

class TakeOver : public testing::Test {
 protected:
  // Pieces of work are done where a test says so.
  static void SetUpTestSuite() { begin_without_maintenance(); }
  static void TearDownTestSuite() { end_without_maintenance(); }
  // Nothing is left of the tests before.
  void SetUp() override { finish_maintenance(); }
  void TearDown() override { EXPECT_TRUE(heapwright_heap_is_valid()); }
};

// A thread that does one thing at a time, and nothing in between.
class Sleeper {
 public:
  Sleeper() : thread_([this] { run(); }) {}
  ~Sleeper() {
    order({});
    thread_.join();
  }
  void order(std::function<void()> work) {
    work_ = std::move(work);
    state_.store(ordered);
    state_.notify_one();
    state_.wait(ordered);
  }

 private:
  static constexpr int idle = 0;
  static constexpr int ordered = 1;

  void run() {
    for (bool is_over = false; !is_over;) {
      state_.wait(idle);
      is_over = !work_;
      if (!is_over) work_();
      state_.store(idle);
      state_.notify_one();
    }
  }
  std::function<void()> work_;
  std::atomic<int> state_{idle};
  std::thread thread_;
};

std::vector<void*> make(std::size_t count, std::size_t bytes) {
  std::vector<void*> blocks(count);
  for (void*& block : blocks) block = allocate(bytes);
  return blocks;
}

void release_all(const std::vector<void*>& blocks) {
  for (void* block : blocks) release(block);
}

std::uint64_t free_units() { return source.dirty_units + source.clean_units; }

// Slabs of so many units in all, of a class that no other test uses and that is served by no other. The last
// ones stay with their thread, because it allocates from them; of the first ones that another needs
// it opens two before it knows that nobody comes by.
constexpr std::size_t unit_count = 256;
constexpr std::size_t last_units = 16;
std::size_t blocks_of_slabs(std::size_t bytes) { return unit_count * unit_bytes / bytes; }

// Blocks of the class that were handed out and did not come back, as counted.
std::uint64_t outside(std::size_t bytes) {
  struct Sum {
    std::uint32_t size_class;
    std::uint64_t blocks;
  } sum{class_of(bytes), 0};
  const auto add = [](const ThreadCache& cache, void* into) {
    auto& all = *static_cast<Sum*>(into);
    const ClassSlot& slot = cache.slots[all.size_class];
    all.blocks += slot.taken.load() - slot.returned.load();
  };
  for_each_cache(add, &sum);
  return sum.blocks;
}

TEST_F(TakeOver, WhatASleeperHadServesAnotherSize) {
  Sleeper owner;
  Sleeper other;
  std::vector<void*> blocks;
  owner.order([&] { blocks = make(blocks_of_slabs(2560), 2560); });
  other.order([&] { release_all(blocks); });
  const std::size_t committed = committed_bytes();
  const std::uint64_t free_before = free_units();
  std::vector<void*> next;
  other.order([&] { next = make(blocks_of_slabs(1536), 1536); });
  EXPECT_EQ(committed_bytes(), committed);
  // All but a few came from there.
  EXPECT_GE(free_units() + 6 * last_units, free_before);
  other.order([&] { release_all(next); });
}

TEST_F(TakeOver, WhatASleeperHadServesAThird) {
  Sleeper owner;
  Sleeper other;
  std::vector<void*> blocks;
  owner.order([&] { blocks = make(blocks_of_slabs(1280), 1280); });
  other.order([&] { release_all(blocks); });
  Sleeper third;
  const std::uint64_t free_before = free_units();
  std::vector<void*> next;
  third.order([&] { next = make(blocks_of_slabs(1280), 1280); });
  EXPECT_GE(free_units() + 6 * last_units, free_before);
  third.order([&] { release_all(next); });
}

TEST_F(TakeOver, MaintenanceClosesWhatASleeperHad) {
  Sleeper owner;
  Sleeper other;
  const std::uint64_t outside_before = outside(1792);
  std::vector<void*> blocks;
  owner.order([&] { blocks = make(blocks_of_slabs(1792), 1792); });
  const std::uint64_t free_before = free_units();
  other.order([&] { release_all(blocks); });
  EXPECT_TRUE(has_returned_slabs());
  finish_maintenance();
  EXPECT_GE(free_units(), free_before + unit_count - last_units);
  EXPECT_FALSE(has_returned_slabs());
  EXPECT_EQ(outside(1792), outside_before);
  std::vector<void*> again;
  owner.order([&] { again = make(blocks_of_slabs(1792), 1792); });
  EXPECT_TRUE(heapwright_heap_is_valid());
  owner.order([&] { release_all(again); });
}

// Every slab is told about long before its last block is freed, so it is looked at in vain first.
TEST_F(TakeOver, InAnyOrder) {
  SCOPED_TRACE("seed " + std::to_string(test_seed()));
  Sleeper owner;
  Sleeper other;
  std::vector<void*> blocks;
  owner.order([&] { blocks = make(blocks_of_slabs(3584), 3584); });
  // But the first slab is of one unit, and back soon: so the others are looked at, too.
  std::shuffle(blocks.begin() + unit_bytes / 3584, blocks.end(),
               std::mt19937(static_cast<unsigned>(test_seed())));
  const std::uint64_t free_before = free_units();
  const auto middle = blocks.begin() + static_cast<long>(blocks.size() / 2);
  other.order([&] { release_all({blocks.begin(), middle}); });
  finish_maintenance();
  EXPECT_LE(free_units(), free_before + 1);
  other.order([&] { release_all({middle, blocks.end()}); });
  finish_maintenance();
  EXPECT_GE(free_units(), free_before + unit_count - last_units);
}

TEST_F(TakeOver, ASlabWithALiveBlockStays) {
  Sleeper owner;
  Sleeper other;
  std::vector<void*> blocks;
  owner.order([&] { blocks = make(blocks_of_slabs(3072), 3072); });
  std::vector<void*> kept;
  std::vector<void*> freed;
  const std::size_t per_slab = unit_bytes / 3072;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    (i > per_slab && i % per_slab == 7 ? kept : freed).push_back(blocks[i]);
  for (void* block : kept) std::memset(block, 7, 3072);
  other.order([&] { release_all(freed); });
  finish_maintenance();
  for (void* block : kept) {
    EXPECT_NE(head_line_of(block), nullptr);
    EXPECT_EQ(static_cast<char*>(block)[3071], 7);
  }
  // The owner hears of what others looked at in vain.
  std::vector<void*> again;
  owner.order([&] { again = make(blocks_of_slabs(3072) / 2, 3072); });
  std::size_t reused = 0;
  for (void* block : again) {
    bool is_reused = false;
    for (void* old : kept) is_reused = is_reused || head_line_of(block) == head_line_of(old);
    reused += is_reused ? 1 : 0;
  }
  EXPECT_EQ(reused, again.size());
  owner.order([&] { release_all(again); });
  other.order([&] { release_all(kept); });
}

// Of one slab all blocks but the first to go by its owner: others cannot know that it is empty.
TEST_F(TakeOver, WhatTheOwnerFreedItselfStaysItsOwn) {
  Sleeper owner;
  Sleeper other;
  std::vector<void*> blocks;
  owner.order([&] {
    blocks = make(blocks_of_slabs(4096), 4096);
    release(blocks.front());
  });
  const UnitLine* slab = line_at(blocks.front());
  other.order([&] { release_all({blocks.begin() + 1, blocks.end()}); });
  finish_maintenance();
  EXPECT_EQ(slab->kind, UnitKind::slab);
  owner.order([] { release(allocate(70)); });
}

// The first of a queue is what its thread allocates from at any time.
TEST_F(TakeOver, TheSlabInUseStays) {
  constexpr std::size_t bytes = 2048;
  Sleeper owner;
  Sleeper other;
  std::vector<void*> blocks;
  void* next = nullptr;
  owner.order([&] {
    blocks = make(unit_bytes / bytes, bytes);
    next = allocate(bytes);  // only now the first slab is known to be full
  });
  const UnitLine* slab = line_at(blocks.front());
  other.order([&] { release_all({blocks.begin() + 1, blocks.end()}); });
  owner.order([&] {
    for (auto block = blocks.begin() + 1; block != blocks.end(); ++block) *block = allocate(bytes);
  });
  for (void* block : blocks) ASSERT_EQ(line_at(block), slab);
  other.order([&] { release_all(blocks); });
  finish_maintenance();
  EXPECT_EQ(slab->kind, UnitKind::slab);
  EXPECT_EQ(slab->owner.load(), line_at(next)->owner.load());
  void* block = nullptr;
  owner.order([&] { block = allocate(bytes); });
  EXPECT_NE(block, nullptr);
  owner.order([&] {
    release(block);
    release(next);
  });
}

std::uint64_t taken_over() {
  constexpr auto reason = static_cast<std::uint32_t>(counters::Reason::slab_emptied);
  return counters_page->heap.counted_reasons[reason].load();
}

TEST_F(TakeOver, WhoComesByKeepsItsSlabs) {
  Sleeper owner;
  Sleeper other;
  std::vector<void*> blocks;
  owner.order([&] { blocks = make(blocks_of_slabs(512), 512); });
  other.order([&] { release_all(blocks); });
  std::vector<void*> own;
  std::vector<void*> others;
  const std::uint64_t before = taken_over();
  for (std::size_t size = 1100; size < 9000; size += size / 4) {
    owner.order([&] { own.push_back(allocate(size)); });
    other.order([&] { others.push_back(allocate(size)); });
  }
  EXPECT_EQ(taken_over(), before);
  for (std::size_t size = 9000; size < 40'000; size += size / 4) {
    other.order([&] { others.push_back(allocate(size)); });
  }
  EXPECT_GT(taken_over(), before);
  owner.order([&] { release_all(own); });
  other.order([&] { release_all(others); });
}

// Owners that sleep and come by at any time, others that free all and need slabs, and maintenance.
class Exchange {
 public:
  void work(unsigned seed) {
    std::mt19937 random(seed);
    for (int round = 0; round < 40; ++round) {
      const bool makes = random() % 3 != 0;
      for (int i = 0; i < 3000; ++i) replace(random() % places, makes);
      if (random() % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  void release_rest() {
    for (std::size_t place = 0; place < places; ++place) replace(place, false);
  }
  int damaged() const { return damaged_; }

 private:
  static constexpr std::size_t places = 256;

  void replace(std::size_t place, bool makes) {
    const std::size_t bytes = 512 + place % 5 * 1024;
    const auto fill = static_cast<unsigned char>(place);
    auto* made = makes ? static_cast<unsigned char*>(allocate(bytes)) : nullptr;
    if (made != nullptr) made[0] = made[bytes - 1] = fill;
    unsigned char* old = blocks_[place].exchange(made, std::memory_order_acq_rel);
    if (old == nullptr) return;
    if (old[0] != fill || old[bytes - 1] != fill) ++damaged_;
    release(old);
  }
  std::atomic<unsigned char*> blocks_[places] = {};
  std::atomic<int> damaged_{0};
};

TEST_F(TakeOver, AnyNumberOfThreadsAtOnce) {
  SCOPED_TRACE("seed " + std::to_string(test_seed()));
  Exchange exchange;
  std::atomic<bool> is_over{false};
  std::thread keeper([&] {
    while (!is_over) {
      maintain(16, 0);
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> threads;
  for (unsigned i = 1; i <= 4; ++i)
    threads.emplace_back([&exchange, i] { exchange.work(static_cast<unsigned>(test_seed()) + i); });
  for (std::thread& thread : threads) thread.join();
  is_over = true;
  keeper.join();
  exchange.release_rest();
  EXPECT_EQ(exchange.damaged(), 0);
}

}  // namespace
}  // namespace heapwright::heap
