// SPDX-License-Identifier: MIT
// The whole heap through its own functions; malloc stays the C library's.
// length: every test is of the one heap of the process, and leaves it valid
#include "heapwright/heap.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../heap_programs/test_seed.hpp"
#include "heap/base/counting.hpp"
#include "heap/base/settings.hpp"
#include "heap/base/system_pages.hpp"
#include "heap/front/allocate.hpp"
#include "heap/pages/large.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/service/maintenance.hpp"
#include "held_memory.hpp"

namespace heapwright::heap {
namespace {

struct Filled {
  unsigned char* memory;
  std::size_t bytes;
  unsigned char fill;

  static Filled make(std::size_t bytes, unsigned char fill) {
    auto* memory = static_cast<unsigned char*>(allocate(bytes));
    if (memory != nullptr) std::memset(memory, fill, bytes);
    return {memory, bytes, fill};
  }
  bool is_intact() const {
    for (std::size_t i = 0; i<bytes; i += bytes> 512 ? 97 : 1) {
      if (memory[i] != fill) return false;
    }
    return true;
  }
};

std::size_t any_size(std::mt19937& random) {
  const std::size_t limits[] = {64, 64, 1024, 8192, 70'000, 400'000};
  return random() % limits[random() % 6];
}

class Heap : public testing::Test {
 protected:
  static void SetUpTestSuite() { settings.has_maintenance_thread = false; }
  void TearDown() override { EXPECT_TRUE(heapwright_heap_is_valid()); }
};

std::uint64_t opened_slabs() {
  constexpr auto reason = static_cast<std::uint32_t>(counters::Reason::slab_opened);
  return current_cache->reasons[reason].load();
}

// A program that has called mlockall(): the kernel does not take such pages back.
TEST(SystemPages, LockedOnesReadAsZerosOnceDropped) {
  constexpr std::size_t bytes = 4 * 4096;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::memset(memory, 1, bytes);
  if (mlock(memory, bytes) != 0) GTEST_SKIP() << "no memory may be locked";
  drop_pages(memory, bytes);
  const auto* const contents = static_cast<const unsigned char*>(memory);
  EXPECT_TRUE(std::all_of(contents, contents + bytes, [](unsigned char byte) { return byte == 0; }));
  munmap(memory, bytes);
}

TEST_F(Heap, AFewBlocksOfFullSlabsAreUsedBeforeASlabIsOpened) {
  std::vector<void*> blocks(3000);
  for (void*& block : blocks) block = allocate(1024);
  const std::uint64_t before = opened_slabs();
  for (std::size_t i = 0; i < blocks.size(); i += 10) release(blocks[i]);
  for (std::size_t i = 0; i < blocks.size(); i += 10) blocks[i] = allocate(1024);
  EXPECT_EQ(opened_slabs(), before);
  for (void* block : blocks) release(block);
}

// 592 bytes come from slabs of 640 until those hold so much that 592 gets its own.
TEST_F(Heap, FreeBlocksOfACoarserSlabAreUsedBeforeASlabIsOpened) {
  constexpr std::size_t bytes = 592;
  std::vector<void*> blocks;
  std::vector<void*> coarse;
  while (coarse.empty() || usable_bytes(blocks.back()) != bytes) {
    blocks.push_back(allocate(bytes));
    if (usable_bytes(blocks.back()) != bytes) coarse.push_back(blocks.back());
    ASSERT_LT(blocks.size(), 10'000U);
  }
  std::size_t freed = 0;
  for (std::size_t i = 0; i < coarse.size(); i += 2, ++freed) release(coarse[i]);
  std::size_t reused = 0;
  std::vector<void*> later;
  for (const std::uint64_t before = opened_slabs(); opened_slabs() == before;) {
    later.push_back(allocate(bytes));
    if (usable_bytes(later.back()) != bytes) ++reused;
    ASSERT_LT(later.size(), 10'000U);
  }
  EXPECT_GE(reused, freed);
  for (std::size_t i = 1; i < coarse.size(); i += 2) release(coarse[i]);
  release(blocks.back());
  for (void* block : later) release(block);
}

TEST_F(Heap, AFirstSlabOfLongBlocksIsOneUnit) {
  heapwright_heap* heap = heapwright_heap_create("long");
  const auto* first = head_line_of(heapwright_heap_allocate(heap, 45056, 16));
  const auto* second = head_line_of(heapwright_heap_allocate(heap, 45056, 16));
  EXPECT_EQ(first->units, 1U);
  EXPECT_EQ(second->units, size_classes[class_of(45'056)].units);
  heapwright_heap_destroy(heap);
}

// Of a coarser class's slabs only one that holds much gives way to finer ones.
TEST_F(Heap, ManySizesWithFewBlocksShareSlabs) {
  std::vector<void*> blocks(40);
  SCOPED_TRACE("seed " + std::to_string(test_seed()));
  std::mt19937 random(static_cast<unsigned>(test_seed()));
  const std::uint64_t before = opened_slabs();
  for (int i = 0; i < 100'000; ++i) {
    void*& block = blocks[random() % blocks.size()];
    if (block != nullptr) release(block);
    block = allocate(2049 + random() % 511);
  }
  EXPECT_LE(opened_slabs() - before, 4U);
  for (void* block : blocks) release(block);
}

TEST_F(Heap, BlocksKeepTheirBytesThroughRandomCallsAndMaintenance) {
  SCOPED_TRACE("seed " + std::to_string(test_seed()));
  std::mt19937 random(static_cast<unsigned>(test_seed()));
  std::vector<Filled> blocks(3000);
  for (int i = 0; i < 200'000; ++i) {
    Filled& block = blocks[random() % blocks.size()];
    if (block.memory == nullptr) {
      block = Filled::make(any_size(random), static_cast<unsigned char>(random()));
    } else if (random() % 4 == 0) {
      ASSERT_TRUE(block.is_intact());
      const std::size_t bytes = any_size(random) + 1;
      auto* moved = static_cast<unsigned char*>(reallocate(block.memory, bytes));
      const std::size_t kept = std::min(bytes, block.bytes);
      ASSERT_EQ(std::count(moved, moved + kept, block.fill), static_cast<std::ptrdiff_t>(kept));
      std::memset(moved, block.fill, bytes);
      block = {moved, bytes, block.fill};
    } else {
      ASSERT_TRUE(block.is_intact());
      release(block.memory);
      block.memory = nullptr;
    }
    if (i % 5000 == 0) {
      maintain(20, 0);
      ASSERT_TRUE(heapwright_heap_is_valid()) << i;
    }
  }
  for (const Filled& block : blocks) {
    if (block.memory != nullptr) release(block.memory);
  }
}

TEST_F(Heap, TheBlockFreedLastIsHandedOutNext) {
  std::vector<void*> blocks(200);
  for (void*& block : blocks) block = allocate(40);
  release(blocks[198]);
  release(blocks[199]);
  void* const last = blocks[199];
  blocks[198] = allocate(40);
  EXPECT_EQ(blocks[198], last);
  blocks[199] = allocate(40);
  for (void* block : blocks) release(block);
}

// Whatever way they took: the fast one, or that of a slab that is looked at.
// Those made of fresh memory, too, except the first of a page, which was not touched.
TEST_F(Heap, ABlockHandedOutHoldsNoLink) {
  std::vector<void*> blocks(3000);
  const auto take = [](void*& block) {
    block = allocate(56);
    const bool is_first = reinterpret_cast<std::uintptr_t>(block) % carve_bytes < 56;
    EXPECT_TRUE(is_first || !is_in_region(static_cast<Block*>(block)->next()));
  };
  for (void*& block : blocks) take(block);
  for (std::size_t i = 0; i < blocks.size(); i += 3) release(blocks[i]);
  for (std::size_t i = 0; i < blocks.size(); i += 3) take(blocks[i]);
  for (void* block : blocks) release(block);
}

// A page's first block is handed out as its memory was left, which is full of links.
TEST_F(Heap, ABlockInUsedMemoryMayBeResizedUnwritten) {
  std::vector<void*> blocks(200'000);
  for (void*& block : blocks) block = allocate(64);
  for (void* block : blocks) release(block);
  for (const std::size_t bytes : {4096U, 2048U, 5000U, 16'384U}) {
    std::vector<void*> next(12'000'000 / bytes);
    for (void*& block : next) block = allocate(bytes);
    for (void*& block : next) block = reallocate(block, bytes - 8);
    for (void* block : next) release(block);
  }
}

TEST_F(Heap, EveryBlockHandedOutIsCounted) {
  const auto taken = [] {
    heapwright_heap_maintain(0);
    std::uint64_t sum = 0;
    for (const counters::ClassCounters& row : counters_page->classes) sum += row.taken.load();
    return sum;
  };
  std::vector<void*> blocks;
  const std::uint64_t before = taken();
  for (std::size_t i = 0; i < 5000; ++i) {
    blocks.push_back(allocate(i % 300));
    if (i % 3 != 0) continue;
    release(blocks.back());
    blocks.pop_back();
  }
  EXPECT_EQ(taken() - before, 5000U);
  for (void* block : blocks) release(block);
  EXPECT_EQ(taken() - before, 5000U);
}

TEST_F(Heap, ThreadsFreeEachOthersBlocks) {
  SCOPED_TRACE("seed " + std::to_string(test_seed()));
  static std::atomic<Filled*> slots[512];
  const auto work = [](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 60'000; ++i) {
      auto* made = static_cast<Filled*>(allocate(sizeof(Filled)));
      *made = Filled::make(any_size(random) / 8, static_cast<unsigned char>(random()));
      Filled* old = slots[random() % 512].exchange(made);
      if (old == nullptr) continue;
      ASSERT_TRUE(old->is_intact());
      release(old->memory);
      release(old);
    }
  };
  for (int round = 0; round < 2; ++round) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; ++i) threads.emplace_back(work, static_cast<unsigned>(test_seed()) + i);
    for (int i = 0; i < 200; ++i) maintain(10, 0);
    for (std::thread& thread : threads) thread.join();
  }
  for (auto& slot : slots) {
    if (Filled* old = slot.exchange(nullptr)) {
      release(old->memory);
      release(old);
    }
  }
  maintain(100'000, 0);
}

TEST_F(Heap, WhatWasFreedGoesBackToTheSystem) {
  heapwright_heap_statistics before{};
  ASSERT_EQ(heapwright_heap_get_statistics(nullptr, &before), 0);
  std::vector<void*> blocks;
  for (int i = 0; i < 20'000; ++i) blocks.push_back(std::memset(allocate(3000), 1, 3000));
  for (void* block : blocks) release(block);
  maintain(100'000, 0);
  heapwright_heap_statistics now{};
  ASSERT_EQ(heapwright_heap_get_statistics(nullptr, &now), 0);
  EXPECT_EQ(now.retained_bytes, 0U);
  EXPECT_LT(now.free_bytes, before.free_bytes + (1U << 20));  // of 60 MB
}

TEST_F(Heap, AlignedBlocksOfEverySize) {
  for (std::size_t alignment = 16; alignment <= (std::size_t{1} << 22); alignment *= 2) {
    for (const std::size_t bytes : {std::size_t{1}, alignment - 1, alignment + 1, std::size_t{5000}}) {
      void* block = allocate_aligned(bytes, alignment);
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0U);
      EXPECT_GE(usable_bytes(block), bytes);
      release(block);
    }
  }
  errno = 0;
  EXPECT_EQ(allocate_aligned(1, std::size_t{1} << 40), nullptr);
  EXPECT_EQ(errno, ENOMEM);
}

TEST_F(Heap, ALargeBlockGrowsWithItsBytesWithoutCopyOrWithMovedPages) {
  std::size_t bytes = 100'000;
  auto* block = static_cast<unsigned char*>(allocate(bytes));
  void* in_the_way = allocate(100'000);
  block[0] = 1;
  block[bytes - 1] = 2;
  while (bytes < 60'000'000) {
    const std::size_t more = bytes * 3 / 2;
    block = static_cast<unsigned char*>(reallocate(block, more));
    ASSERT_NE(block, nullptr);
    ASSERT_EQ(block[0], 1);
    ASSERT_EQ(block[bytes - 1], 2);
    block[more - 1] = 2;
    bytes = more;
    EXPECT_TRUE(heapwright_heap_is_valid());
  }
  release(block);
  release(in_the_way);
}

// As buffers grow, with other blocks made meanwhile.
TEST_F(Heap, ABlockThatGrowsAgainAndAgainMovesSeldom) {
  std::vector<void*> others;
  std::size_t bytes = 100'000;
  auto* block = static_cast<unsigned char*>(allocate(bytes));
  std::memset(block, 7, bytes);
  int moves = 0;
  while (bytes < 3'000'000) {
    others.push_back(allocate(70'000));
    bytes = bytes * 3 / 2;
    auto* grown = static_cast<unsigned char*>(reallocate(block, bytes));
    ASSERT_NE(grown, nullptr);
    if (grown != block) ++moves;
    block = grown;
    ASSERT_EQ(block[99'999], 7);
  }
  EXPECT_LE(moves, 3);
  release(block);
  for (void* other : others) release(other);
}

// Buffers that double their capacity as they grow leave free places of half their length, a quarter and so
// on, which others take although they cannot grow there.
TEST_F(Heap, PlacesThatGrowingBlocksLeftDoNotPileUp) {
  std::mt19937 random(1);
  std::vector<std::pair<void*, std::size_t>> buffers(300);
  std::size_t live_bytes = 0;
  std::size_t most_live_bytes = 0;
  std::size_t most_held_bytes = 0;
  for (int i = 0; i < 3000; ++i) {
    auto& [begin, bytes] = buffers[random() % buffers.size()];
    live_bytes -= bytes;
    release(begin);
    begin = allocate(bytes = 32'768);
    const std::size_t length = std::size_t{65'536} << random() % 5;
    while (bytes < length) begin = reallocate(begin, bytes *= 2);
    live_bytes += bytes;
    most_live_bytes = std::max(most_live_bytes, live_bytes);
    most_held_bytes = std::max(most_held_bytes, live_bytes + dirty_bytes());
  }
  EXPECT_LT(most_held_bytes, most_live_bytes / 100 * 131);
  for (const auto& [begin, bytes] : buffers) release(begin);
}

TEST_F(Heap, ZeroedBlocksAreZeroWhateverWasThereBefore) {
  for (const std::size_t bytes : {40UL, 5000UL, 100'000UL, 20'000'000UL}) {
    for (int i = 0; i < 4; ++i) {
      auto* block = static_cast<unsigned char*>(allocate_zeroed(bytes));
      ASSERT_NE(block, nullptr);
      for (std::size_t at = 0; at < bytes; ++at) ASSERT_EQ(block[at], 0);
      std::memset(block, 0xAB, bytes);
      release(block);
    }
  }
}

TEST_F(Heap, NoMemoryIsAnAnswerAndTheHeapGoesOn) {
  for (std::uint32_t every = 1; every <= 9; ++every) {
    std::vector<Filled> blocks;
    SCOPED_TRACE("seed " + std::to_string(test_seed()));
    std::mt19937 random(static_cast<unsigned>(test_seed()) + every);
    std::optional<HeldMemory> held;
    if (every == 1) held.emplace();
    refuse_every = every;
    int refused = 0;
    for (int i = 0; i < 4000; ++i) {
      errno = 0;
      const Filled block = Filled::make(any_size(random) * 4, 7);
      if (block.memory == nullptr) {
        EXPECT_EQ(errno, ENOMEM);
        ++refused;
      } else {
        blocks.push_back(block);
      }
    }
    refuse_every = 0;
    if (every == 1) {
      EXPECT_GT(refused, 0);
    }
    for (const Filled& block : blocks) {
      ASSERT_TRUE(block.is_intact());
      release(block.memory);
    }
    ASSERT_TRUE(heapwright_heap_is_valid()) << every;
  }
}

TEST_F(Heap, PrivateHeapsCountTheirOwnAndGoAsAWhole) {
  heapwright_heap* heap = heapwright_heap_create("orders");
  ASSERT_NE(heap, nullptr);
  std::vector<void*> blocks;
  for (int i = 0; i < 5000; ++i) blocks.push_back(heapwright_heap_allocate(heap, 100, 16));
  blocks.push_back(heapwright_heap_allocate(heap, 300'000, 16));
  std::thread([&] {
    for (int i = 0; i < 1000; ++i) heapwright_heap_free(heap, blocks[i]);
    for (int i = 1000; i < 2000; ++i) release(blocks[i]);  // free() takes them as well
  }).join();
  heapwright_heap_statistics now{};
  ASSERT_EQ(heapwright_heap_get_statistics(heap, &now), 0);
  EXPECT_EQ(now.live_blocks, 3001U);
  EXPECT_EQ(now.live_bytes, 3000 * 112U + now.large_bytes);
  maintain(100'000, 0);  // what threads that ended held ready
  heapwright_heap_statistics before{};
  heapwright_heap_get_statistics(nullptr, &before);
  heapwright_heap_destroy(heap);
  while (heapwright_heap_maintain(100) == 100) {
  }
  heapwright_heap_statistics after{};
  heapwright_heap_get_statistics(nullptr, &after);
  EXPECT_EQ(before.live_blocks - after.live_blocks, 3001U);
}

TEST_F(Heap, BadAlignmentOfAPrivateHeapIsRefused) {
  private_heap heap("aligned");
  errno = 0;
  EXPECT_EQ(heapwright_heap_allocate(heap.get(), 10, 3), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(heapwright_heap_allocate(heap.get(), 10, 0), nullptr);
  EXPECT_EQ(heapwright_heap_allocate(heap.get(), SIZE_MAX, 16), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(heap.allocate(10, 256)) % 256, 0U);
}

}  // namespace
}  // namespace heapwright::heap
