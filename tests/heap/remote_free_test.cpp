// SPDX-License-Identifier: MIT
// Frees of other threads' blocks: when they are done, and when they are not put off.
#include "heap/threads/remote_free.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <thread>
#include <vector>

#include "heap/front/allocate.hpp"
#include "heap/service/process.hpp"
#include "heap/slabs/slab.hpp"
#include "heap/threads/caches.hpp"
#include "heapwright/heap.h"

namespace heapwright::heap {
namespace {

constexpr std::uint32_t waiting = DelayedFrees::capacity;

void elsewhere(const std::function<void()>& work) { std::thread(work).join(); }

class RemoteFree : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(initialize_process()); }
  void TearDown() override { EXPECT_TRUE(heapwright_heap_is_valid()); }

  // Blocks of this thread that lie in one slab, the first of which none was freed elsewhere.
  std::vector<void*> make(std::size_t bytes, std::size_t count) {
    std::vector<void*> blocks;
    while (blocks.size() < count) {
      void* const block = allocate(bytes);
      if (!blocks.empty() && head_line_of(block) != head_line_of(blocks[0])) {
        rest_.insert(rest_.end(), blocks.begin(), blocks.end());
        blocks.clear();
      }
      blocks.push_back(block);
    }
    return blocks;
  }
  ~RemoteFree() override {
    for (void* block : rest_) release(block);
  }

 private:
  std::vector<void*> rest_;
};

std::uint32_t freed_elsewhere(void* live) { return remote_of(head_line_of(live)).count(); }

TEST_F(RemoteFree, IsDoneSixteenFreesLater) {
  std::vector<void*> blocks = make(200, waiting + 3);
  void* const live = blocks.back();
  blocks.pop_back();
  elsewhere([&] {
    for (std::uint32_t i = 0; i < waiting; ++i) release(blocks[i]);
    EXPECT_EQ(freed_elsewhere(live), 0U);
    release(blocks[waiting]);
    EXPECT_EQ(freed_elsewhere(live), 1U);
    EXPECT_EQ(remote_of(head_line_of(live)).head_offset(),
              static_cast<std::size_t>(static_cast<char*>(blocks[0]) - begin_of_slab(head_line_of(live))));
    release(blocks[waiting + 1]);
    EXPECT_EQ(freed_elsewhere(live), 2U);
  });
  EXPECT_EQ(freed_elsewhere(live), waiting + 2);  // the thread has ended
  release(live);
}

TEST_F(RemoteFree, OfALongBlockIsDoneAtOnce) {
  const std::vector<void*> longest = make(1024, 2);
  const std::vector<void*> longer = make(1025, 2);
  elsewhere([&] {
    release(longest[0]);
    release(longer[0]);
    EXPECT_EQ(freed_elsewhere(longest[1]), 0U);
    EXPECT_EQ(freed_elsewhere(longer[1]), 1U);
  });
  release(longest[1]);
  release(longer[1]);
}

// The heap may be destroyed next, and the slab be another's.
TEST_F(RemoteFree, OfAPrivateHeapsBlockIsDoneAtOnce) {
  heapwright_heap* const heap = heapwright_heap_create("own");
  void* const freed = heapwright_heap_allocate(heap, 100, 16);
  void* const live = heapwright_heap_allocate(heap, 100, 16);
  release(freed);
  EXPECT_EQ(freed_elsewhere(live), 1U);
  heapwright_heap_destroy(heap);
}

TEST_F(RemoteFree, IsDoneBeforeItsThreadOpensASlab) {
  const std::vector<void*> blocks = make(200, 3);
  elsewhere([&] {
    release(allocate(16));
    release(blocks[0]);
    release(blocks[1]);
    EXPECT_EQ(freed_elsewhere(blocks[2]), 0U);
    std::vector<void*> own;
    const auto opened = [] {
      return current_cache->reasons[static_cast<std::uint32_t>(counters::Reason::slab_opened)].load();
    };
    const auto before = opened();
    while (opened() == before) own.push_back(allocate(640));
    EXPECT_EQ(freed_elsewhere(blocks[2]), 2U);
    for (void* block : own) release(block);
  });
  release(blocks[2]);
}

// Nobody would do it later.
TEST_F(RemoteFree, OfAThreadThatGaveItsCacheUpIsDoneAtOnce) {
  const std::vector<void*> blocks = make(200, 2);
  std::thread([&] {
    ThreadCache* const own = std::exchange(current_cache, &cache_given_up);
    release(blocks[0]);
    current_cache = own;
    EXPECT_EQ(freed_elsewhere(blocks[1]), 1U);
  }).join();
  release(blocks[1]);
}

TEST_F(RemoteFree, TwiceInARowIsFoundAtOnce) {
  const std::vector<void*> blocks = make(200, 2);
  const auto free_twice = [&] {
    elsewhere([&] {
      release(allocate(16));
      release(blocks[0]);
      release(blocks[0]);
      _exit(0);
    });
  };
  EXPECT_DEATH(free_twice(), "double free of 0x[0-9a-f]+, a block of [0-9]+ bytes");
  for (void* block : blocks) release(block);
}

// Its slab is closed by the second free, and the memory part of a large block's.
TEST_F(RemoteFree, OfWhatWasFreedTwiceMeanwhileIsFound) {
  const auto free_twice = [] {
    void* const block = allocate(200);
    UnitLine* const slab = head_line_of(block);
    elsewhere([&] {
      release(allocate(16));
      release(block);
      slab->kind = UnitKind::inside;
      free_delayed(current_cache);
      _exit(0);
    });
  };
  EXPECT_DEATH(free_twice(), "free of 0x[0-9a-f]+, which is no block of this heap");
}

}  // namespace
}  // namespace heapwright::heap
