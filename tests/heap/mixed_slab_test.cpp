// SPDX-License-Identifier: MIT
// What is free in a sparse slab serves blocks of any class.
#include "heap/slabs/mixed_slab.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "carve_all.hpp"
#include "heap/base/counting.hpp"
#include "heap/front/allocate.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/slabs/page_purge.hpp"
#include "heap/slabs/slab.hpp"
#include "heap/threads/remote_free.hpp"
#include "heap/threads/thread_cache.hpp"
#include "heapwright/heap.h"
#include "no_maintenance.hpp"

namespace heapwright::heap {
namespace {

ThreadCache mixed_owner{};

class MixedSlab : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    begin_without_maintenance();
    ASSERT_FALSE(has_mixed_slabs());
    slab_ = open_slab(allocate_run(1), class_of(GetParam()), 1, &mixed_owner);
    ASSERT_TRUE(can_mix(slab_));
    std::vector<char*> blocks = carve_all(slab_);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (i % 20 == 3) {
        std::memset(blocks[i], static_cast<int>(i), GetParam());
        kept_.push_back(blocks[i]);
      } else if (i % 2 == 0) {
        free_remote(slab_, blocks[i]);
      } else {
        auto* block = reinterpret_cast<Block*>(blocks[i]);
        block->set_next(slab_->free_list);
        slab_->free_list = block;
        ++slab_->freed;
      }
    }
    PagePurge purge{};
    ASSERT_TRUE(purge.begin(slab_, true));
    while (purge.step()) {
    }
    ASSERT_EQ(slab_->kind, UnitKind::mixed);
    EXPECT_TRUE(mixed_is_valid(slab_));
    EXPECT_EQ(static_cast<std::size_t>(slab_->rest), kept_.size());
  }
  void TearDown() override {
    EXPECT_FALSE(has_mixed_slabs());
    end_without_maintenance();
    EXPECT_TRUE(heapwright_heap_is_valid());
  }
  void release_kept() {
    for (char* block : kept_) release(block);
    kept_.clear();
  }

  UnitLine* slab_ = nullptr;
  std::vector<char*> kept_;
};

TEST_P(MixedSlab, KeepsItsBlocksAsTheyWere) {
  for (char* block : kept_) {
    EXPECT_EQ(usable_bytes(block), size_classes[class_of(GetParam())].block_bytes);
    for (std::size_t i = 1; i < GetParam(); ++i) ASSERT_EQ(block[i], block[0]);
  }
  release_kept();
}

// Blocks of many sizes, aligned as their classes are, apart from each other and from those that stayed.
TEST_P(MixedSlab, ServesOtherClassesInItsHoles) {
  std::set<std::pair<char*, std::size_t>> taken;
  for (char* block : kept_) taken.insert({block, GetParam()});
  std::vector<Block*> made;
  for (const std::size_t bytes : {std::size_t{2048}, std::size_t{96}, std::size_t{16}, std::size_t{512}}) {
    const MixedBlocks found = carve_mixed(class_of(bytes));
    if (found.slab == nullptr) continue;  // blocks of 16 bytes leave no hole of 2048
    ASSERT_EQ(found.slab, slab_);
    Block* block = found.blocks.first;
    for (std::uint32_t i = 0; i < found.blocks.count; ++i, block = made.back()->next()) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % (bytes & -bytes), 0U);
      EXPECT_EQ(usable_bytes(block), bytes);
      taken.insert({reinterpret_cast<char*>(block), bytes});
      made.push_back(block);
    }
    EXPECT_EQ(block, nullptr);
  }
  EXPECT_GE(made.size(), 64U);
  const char* end = begin_of_slab(slab_);
  for (const auto& [begin, bytes] : taken) {
    EXPECT_GE(begin, end);
    end = begin + bytes;
  }
  EXPECT_LE(end, begin_of_slab(slab_) + unit_bytes);
  EXPECT_TRUE(heapwright_heap_is_valid());
  for (Block* block : made) release(block);
  EXPECT_TRUE(mixed_is_valid(slab_));
  release_kept();
}

// Its holes join: when all but one block is free, the rest is one hole, or two.
TEST_P(MixedSlab, JoinsWhatIsFreed) {
  char* const last = kept_.back();
  kept_.pop_back();
  for (char* block : kept_) release(block);
  EXPECT_GE(slab_->units, unit_bytes / 16 / 2);
  release(last);
}

TEST_P(MixedSlab, TakesBlocksOfThreadsThatTookItForASlab) {
  for (char* block : kept_) {
    free_remote(slab_, block);
    if (block != kept_.back()) EXPECT_TRUE(mixed_is_valid(slab_));
  }
}

TEST_P(MixedSlab, ReturnsItsFreePagesAfterTheDecayTime) {
  const std::uint64_t before = counters_page->heap.purged_bytes.load();
  EXPECT_TRUE(has_unpurged_mixed());
  EXPECT_FALSE(purge_mixed(static_cast<std::uint16_t>(slab_->stamp + 5), 6));
  EXPECT_TRUE(purge_mixed(static_cast<std::uint16_t>(slab_->stamp + 6), 6));
  EXPECT_FALSE(has_unpurged_mixed());
  EXPECT_TRUE(mixed_is_valid(slab_));
  if (GetParam() >= 512) EXPECT_GE(counters_page->heap.purged_bytes.load() - before, unit_bytes / 4);
  for (char* block : kept_) EXPECT_EQ(block[GetParam() - 1], block[0]);
  release(kept_.back());
  kept_.pop_back();
  EXPECT_TRUE(has_unpurged_mixed());
  release_kept();
}

TEST_P(MixedSlab, StopsASecondFreeAndAFreeInsideABlock) {
  char* const first = kept_.front();
  EXPECT_DEATH(release(first + 8), "free of 0x[0-9a-f]+, 8 bytes inside the block");
  release(first);
  kept_.erase(kept_.begin());
  EXPECT_DEATH(release(first), "free of 0x[0-9a-f]+, which is no block of this heap");
  release_kept();
}

INSTANTIATE_TEST_SUITE_P(Classes, MixedSlab, testing::Values(16, 48, 512, 1008));

// Nothing has rested for the decay time by then.
class Ratchet : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(initialize_process());
    settings.has_maintenance_thread = false;
    settings.decay_ms = 600'000;
    finish_maintenance();
  }
  // What their threads' lists held went back with their caches.
  void TearDown() override {
    finish_maintenance();
    EXPECT_FALSE(has_mixed_slabs());
    EXPECT_TRUE(heapwright_heap_is_valid());
  }
};

struct Written {
  unsigned char* memory;
  std::size_t bytes;
  unsigned char sign;

  bool is_whole() const {
    for (std::size_t i = 0; i < bytes; ++i) {
      if (memory[i] != sign) return false;
    }
    return usable_bytes(memory) >= bytes;
  }
};

Written written(std::size_t bytes, unsigned random) {
  const auto sign = static_cast<unsigned char>(random | 1);
  return {static_cast<unsigned char*>(std::memset(allocate(bytes), sign, bytes)), bytes, sign};
}

// One block in 64 of each size stays; what is free beside them serves the next size.
void grow_little_more_than_what_lives() {
  std::minstd_rand random(1);
  std::vector<Written> kept;
  const std::uint32_t before = reached_units();
  for (std::size_t bytes = 64; bytes <= 1024; bytes += 32) {
    std::vector<Written> blocks;
    for (std::size_t made = 0; made < 16'000'000; made += bytes) {
      blocks.push_back(written(bytes, static_cast<unsigned>(random())));
    }
    for (const Written& block : blocks) {
      if (random() % 64 == 0) {
        kept.push_back(block);
      } else {
        release(block.memory);
      }
    }
  }
  EXPECT_TRUE(has_mixed_slabs());
  // 31 sizes of 15.3 MiB; 7.4 MiB live. Without mixed slabs: 265 MiB.
  EXPECT_LE((reached_units() - before) * unit_bytes, std::size_t{80} << 20);
  EXPECT_TRUE(heapwright_heap_is_valid());
  for (const Written& block : kept) {
    ASSERT_TRUE(block.is_whole());
    release(block.memory);
  }
}

TEST_F(Ratchet, GrowsLittleMoreThanWhatLives) { std::thread(grow_little_more_than_what_lives).join(); }

// What the threads of a test pass on to each other.
struct Passed {
  std::mutex lock;
  std::vector<Written> blocks;
  std::atomic<int> damaged{0};

  void free_now(const std::vector<Written>& freed) {
    for (const Written& block : freed) {
      if (!block.is_whole()) ++damaged;
      release(block.memory);
    }
  }
  void exchange_and_free(std::vector<Written> others) {
    {
      const std::lock_guard locked(lock);
      std::swap(others, blocks);
    }
    free_now(others);
  }
};

Written grown(const Written& block) {
  const std::size_t bytes = block.bytes + 200;
  auto* memory = static_cast<unsigned char*>(reallocate(block.memory, bytes));
  return {static_cast<unsigned char*>(std::memset(memory, block.sign, bytes)), bytes, block.sign};
}

// One block in 64 stays, one is freed by another thread, and one grows before that.
void make_and_free(std::size_t bytes, std::minstd_rand& random, std::vector<Written>& left, Passed& passed) {
  std::vector<Written> blocks;
  for (std::size_t made = 0; made < 8'000'000; made += bytes) {
    blocks.push_back(written(bytes, static_cast<unsigned>(random())));
  }
  std::vector<Written> freed;
  std::vector<Written> others;
  for (const Written& block : blocks) {
    const auto way = random() % 64;
    std::vector<Written>& to = way == 0 ? left : way <= 2 ? others : freed;
    to.push_back(way == 2 ? grown(block) : block);
  }
  passed.free_now(freed);
  passed.exchange_and_free(std::move(others));
}

// Blocks of all threads are freed by others, also while their slabs become mixed.
TEST_F(Ratchet, OfSeveralThreadsLosesNothing) {
  constexpr int threads = 4;
  constexpr int sizes = 12;
  std::vector<Written> left[threads];
  std::vector<std::thread> running;
  Passed passed;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      std::minstd_rand random(static_cast<unsigned>(t + 1));
      for (int size = 0; size < sizes; ++size) {
        make_and_free(48U + 80U * static_cast<std::size_t>(size), random, left[t], passed);
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  EXPECT_TRUE(heapwright_heap_is_valid());
  passed.exchange_and_free({});
  for (const auto& blocks : left) passed.free_now(blocks);
  EXPECT_EQ(passed.damaged, 0);
}

}  // namespace
}  // namespace heapwright::heap
