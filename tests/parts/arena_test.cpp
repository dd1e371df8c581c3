// SPDX-License-Identifier: MIT
// length: one test for each promise of the page
#include "heapwright/arena.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "throwing_value.hpp"

namespace {

using heapwright::arena;
using heapwright::arena_options;
using parts_test::Countdown;

// Counts what it gave, and throws when the countdown says so.
class CountingResource : public std::pmr::memory_resource {
 public:
  std::size_t live_bytes = 0;
  std::size_t allocations = 0;
  std::vector<std::size_t> sizes{};  // in order

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    Countdown::pass();
    ++allocations;
    sizes.push_back(bytes);
    live_bytes += bytes;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* first, std::size_t bytes, std::size_t alignment) override {
    live_bytes -= bytes;
    std::pmr::new_delete_resource()->deallocate(first, bytes, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

struct Ending {
  Ending(std::vector<int>& list, int number) : order(&list), own(number) {}
  ~Ending() { order->push_back(own); }
  std::vector<int>* order;
  int own;
};

TEST(Arena, GivesAlignedMemoryThatDoesNotOverlap) {
  CountingResource upstream;
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    arena memory(arena_options{256, 8192, &upstream});
    std::map<std::byte*, std::size_t> given;
    std::vector<std::pair<arena::marker, std::map<std::byte*, std::size_t>>> markers;
    for (int i = 0; i < 600; ++i) {
      const unsigned kind = static_cast<unsigned>(random() % 100);
      if (kind < 4) {
        markers.emplace_back(memory.mark(), given);
      } else if (kind < 7 && !markers.empty()) {
        memory.rewind(markers.back().first);
        given = markers.back().second;
        markers.pop_back();
      } else if (kind == 7) {
        memory.reset();
        given.clear();
        markers.clear();
      } else {
        const std::size_t bytes = random() % (kind < 12 ? 20000 : 300);
        const std::size_t alignment = std::size_t{1} << random() % 8;
        auto* first = static_cast<std::byte*>(memory.allocate(bytes, alignment));
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(first) % alignment, 0U);
        std::memset(first, 0x5a, bytes);
        const auto after = given.lower_bound(first);
        ASSERT_TRUE(after == given.end() || first + bytes <= after->first);
        ASSERT_TRUE(after == given.begin() || std::prev(after)->first + std::prev(after)->second <= first);
        ASSERT_TRUE(bytes == 0 || memory.owns(first));
        given[first] = bytes;
      }
      const auto usage = memory.usage();
      ASSERT_EQ(usage.retained_bytes, upstream.live_bytes);
    }
  }
  EXPECT_EQ(upstream.live_bytes, 0U);
}

TEST(Arena, DestroysInReverseDownToAMarker) {
  std::vector<int> order;
  {
    arena memory;
    for (int i = 0; i < 3; ++i) memory.create<Ending>(order, i);
    const auto here = memory.mark();
    for (int i = 3; i < 6; ++i) memory.create<Ending>(order, i);
    memory.rewind(here);
    EXPECT_EQ(order, (std::vector<int>{5, 4, 3}));
    memory.create<Ending>(order, 9);
    memory.reset();
    EXPECT_EQ(order, (std::vector<int>{5, 4, 3, 9, 2, 1, 0}));
    memory.create<Ending>(order, 7);
  }
  EXPECT_EQ(order.back(), 7);
}

// Objects that make others in their constructor, are interrupted by marks, arrays, other types and by
// exceptions: as a list of what was created says, newest first.
struct FamilyMember {
  FamilyMember(arena& memory, std::vector<int>& list, int number, int children, bool fails)
      : order(&list), own(number) {
    for (int i = 0; i < children; ++i) memory.create<FamilyMember>(memory, list, number + 1 + i, 0, false);
    if (fails) throw number;
  }
  ~FamilyMember() { order->push_back(own); }
  std::vector<int>* order;
  int own;
};

TEST(Arena, DestroysInReverseHoweverItWasCreated) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    std::vector<int> order;
    std::vector<int> expected;
    std::vector<int> live;
    std::vector<std::pair<arena::marker, std::size_t>> marks;
    const auto end_down_to = [&](std::size_t count) {
      for (; live.size() > count; live.pop_back()) expected.push_back(live.back());
    };
    {
      arena memory(arena_options{256, 1024});
      for (int number = 0; number < 3000; number += 10) {
        const unsigned kind = static_cast<unsigned>(random() % 40);
        const int children = kind < 8 ? static_cast<int>(random() % 4) : 0;
        for (int i = 0; i < children; ++i) live.push_back(number + 1 + i);
        if (kind == 38) {
          memory.reset();
          end_down_to(0);
          marks.clear();
        } else if (kind > 33 && !marks.empty()) {
          memory.rewind(marks.back().first);
          end_down_to(marks.back().second);
          marks.pop_back();
        } else if (kind > 30) {
          marks.emplace_back(memory.mark(), live.size());
        } else if (kind == 30) {
          memory.allocate(7, 1);
        } else if (kind == 29) {
          for (int i = 0; i < 3; ++i) live.push_back(number + 1 + i);
          EXPECT_THROW(memory.create<FamilyMember>(memory, order, number, 3, true), int);
        } else if (kind == 28) {
          memory.create<Ending>(order, number);
          live.push_back(number);
        } else {
          memory.create<FamilyMember>(memory, order, number, children, false);
          live.push_back(number);
        }
        ASSERT_EQ(order, expected) << "seed " << seed;
      }
      end_down_to(0);
    }
    ASSERT_EQ(order, expected) << "seed " << seed;
  }
}

TEST(Arena, SurvivesThrowingConstructorsAndUpstream) {
  using Value = parts_test::ThrowingValue<true>;
  const long live = Value::live;
  for (long point = 1; point < 60; ++point) {
    CountingResource upstream;
    {
      arena memory(arena_options{128, 512, &upstream});
      Countdown::left = point;
      try {
        for (int i = 0; i < 10; ++i) memory.create<Value>(i);
        memory.create_array<Value>(5);
        memory.allocate(5000);
      } catch (const std::runtime_error&) {
      }
      Countdown::left = 0;
      memory.create<Value>(1);
    }
    ASSERT_EQ(Value::live, live) << "point " << point;
    ASSERT_EQ(upstream.live_bytes, 0U);
  }
}

TEST(Arena, UsesTheCallersBufferFirst) {
  alignas(16) std::array<std::byte, 4096> buffer;
  arena memory(buffer, arena_options{4096, 65536, std::pmr::null_memory_resource()});
  for (int cycle = 0; cycle < 3; ++cycle) {
    auto* first = static_cast<std::byte*>(memory.allocate(2000));
    EXPECT_GE(first, buffer.data());
    EXPECT_LT(first, buffer.data() + buffer.size());
    EXPECT_THROW(memory.allocate(4000), std::bad_alloc);
    memory.reset();
  }
  EXPECT_EQ(memory.usage().upstream_allocations, 0U);
}

std::size_t run_cycle(arena& memory, std::size_t objects) {
  for (std::size_t i = 0; i < objects; ++i) memory.allocate(16 + i % 200);
  memory.allocate(70000);
  const std::size_t used = memory.usage().used_bytes;
  memory.reset();
  return used;
}

TEST(Arena, AsksUpstreamForNothingInSteadyState) {
  arena memory;
  for (int i = 0; i < 12; ++i) run_cycle(memory, 5000);
  const auto before = memory.usage().upstream_allocations;
  for (int i = 0; i < 100; ++i) run_cycle(memory, 5000);
  EXPECT_EQ(memory.usage().upstream_allocations, before);
}

TEST(Arena, NeverKeepsASpike) {
  for (const int spike_at : {0, 1, 7, 40}) {
    arena memory;
    std::size_t usual = 0;
    for (int i = 0; i < 64; ++i) {
      if (i == spike_at) {
        run_cycle(memory, 200000);
      } else {
        usual = run_cycle(memory, 2000);
      }
    }
    EXPECT_LE(memory.usage().retained_bytes, 2 * usual) << "spike at " << spike_at;
    EXPECT_GE(memory.usage().retained_bytes, usual / 2);
  }
}

TEST(Arena, ServesPmrContainersAndAllocators) {
  arena memory;
  {
    std::pmr::vector<std::pmr::string> words(&memory);
    for (int i = 0; i < 100; ++i) words.emplace_back("a word that does not fit the small string");
    EXPECT_TRUE(memory.owns(words.front().data()));
    std::vector<int, heapwright::arena_allocator<int>> numbers{heapwright::arena_allocator<int>(memory)};
    numbers.assign(1000, 3);
    EXPECT_TRUE(memory.owns(numbers.data()));
  }
  memory.reset();
}

TEST(Arena, ScratchScopesNestAndEndEmpty) {
  const auto in_a_thread = [] {
    const int* outer_value = nullptr;
    for (int i = 0; i < 100; ++i) {
      const heapwright::scratch outer;
      outer_value = outer->create<int>(i);
      {
        const heapwright::scratch inner;
        inner->create<std::string>("inner, and too long for the small buffer");
      }
      ASSERT_EQ(*outer_value, i);
    }
    const heapwright::scratch last;
    EXPECT_EQ(last->usage().requested_bytes, 0U);
  };
  std::thread(in_a_thread).join();
  in_a_thread();
}

TEST(Arena, ReportsWhereBytesWent) {
  arena memory;
  memory.allocate(1, 1);
  memory.allocate(8, 64);
  memory.create<std::string>("x");
  const auto usage = memory.usage();
  EXPECT_EQ(usage.requested_bytes, 1 + 8 + sizeof(std::string));
  EXPECT_GT(usage.padding_bytes, 0U);
  EXPECT_NE(memory.report().find(" lost to alignment"), std::string::npos);
}

// 32 bytes for a run of one type, in each of few blocks.
TEST(Arena, NotesARunOfOneTypeOnce) {
  if (HEAPWRIGHT_ASAN) GTEST_SKIP() << "red zones";
  arena memory;
  std::vector<int> order;
  for (int i = 0; i < 50; ++i) memory.create<Ending>(order, i);
  EXPECT_EQ(memory.usage().registry_bytes, 32U);
  for (int i = 0; i < 10; ++i) {
    memory.create<Ending>(order, i);
    memory.create<std::string>("x");
  }
  EXPECT_EQ(memory.usage().registry_bytes, 32U * 20);
  for (int i = 0; i < 10'000; ++i) memory.create<Ending>(order, i);
  EXPECT_LT(memory.usage().registry_bytes, 32U * 30);
  memory.reset();
  EXPECT_EQ(order.size(), 50U + 10 + 10'000);
}

// As new does: what no constructor writes stays as it is.
TEST(Arena, CreatesForOverwrite) {
  struct Half {
    Half() : written(1) {}
    int written;
    int left;
  };
  alignas(16) std::array<std::byte, 256> buffer;
  buffer.fill(std::byte{0x5a});
  arena memory{std::span<std::byte>(buffer)};
  EXPECT_EQ(*memory.create<int>(), 0);
  EXPECT_EQ(memory.create_array<int>(2)[1], 0);
  if (!HEAPWRIGHT_ASAN && !HEAPWRIGHT_ANNOTATE) {
    EXPECT_EQ(*memory.create_for_overwrite<int>(), 0x5a5a5a5a);
    EXPECT_EQ(memory.create_array_for_overwrite<int>(2)[1], 0x5a5a5a5a);
    const Half* half = memory.create_for_overwrite<Half>();
    EXPECT_EQ(half->written, 1);
    EXPECT_EQ(half->left, 0x5a5a5a5a);
  }
  EXPECT_EQ(*memory.create_for_overwrite<std::string>(), "");
  EXPECT_EQ(memory.create_array_for_overwrite<std::string>(3)[2], "");
  EXPECT_THROW(memory.create_array_for_overwrite<std::string>(SIZE_MAX / 16), std::length_error);
}

static_assert(sizeof(arena) <= (HEAPWRIGHT_CHECKED ? 144 : 128));

// Counted by hand: three blocks of 256 bytes with headers of 32, each of which
// takes four requests of 50 bytes in steps of 52 (alignment 4).
TEST(Arena, CountsWhatIsLeftAtBlockEndsAndForgetsItOnRewind) {
  if (HEAPWRIGHT_ASAN) GTEST_SKIP() << "red zones";
  CountingResource upstream;
  arena memory(arena_options{256, 256, &upstream});
  const auto fill = [&](int requests) {
    for (int i = 0; i < requests; ++i) memory.allocate(50, 4);
  };
  fill(4);
  EXPECT_EQ(memory.usage().tail_bytes, 0U);
  EXPECT_EQ(memory.usage().padding_bytes, 6U);
  const auto here = memory.mark();
  fill(8);
  const std::size_t left = 256 - 32 - (3 * 52 + 50);
  EXPECT_EQ(memory.usage().tail_bytes, 2 * left);
  EXPECT_EQ(memory.usage().padding_bytes, 18U);
  memory.rewind(here);
  EXPECT_EQ(memory.usage().tail_bytes, 0U);
  EXPECT_EQ(memory.usage().padding_bytes, 6U);
  fill(4);
  EXPECT_EQ(memory.usage().tail_bytes, left);
  EXPECT_EQ(memory.usage().used_bytes, 2U * 256 - 32 - 32 - left);
  memory.reset();
  fill(1);
  EXPECT_EQ(memory.usage().tail_bytes, 0U);
}

// 100,000 objects of 104 bytes need few blocks, and 100 of them no more than before they do.
TEST(Arena, GrowsBlocksWithTheLoad) {
  if (HEAPWRIGHT_ASAN) GTEST_SKIP() << "red zones";
  CountingResource upstream;
  arena memory(arena_options{.upstream = &upstream});
  std::size_t given = 0;
  for (int i = 0; i < 100000; ++i) {
    memory.allocate(104, 8);
    given += 104;
    ASSERT_LE(upstream.live_bytes, 3 * given + 8192);
  }
  const std::size_t kib = 1024;
  const std::vector<std::size_t> doubled{4 * kib, 8 * kib, 16 * kib, 32 * kib, 64 * kib};
  const std::vector<std::size_t> tripled{192 * kib, 576 * kib, 1728 * kib, 5184 * kib, 15552 * kib};
  ASSERT_EQ(upstream.sizes.size(), doubled.size() + tripled.size());
  EXPECT_TRUE(std::equal(doubled.begin(), doubled.end(), upstream.sizes.begin()));
  EXPECT_TRUE(std::equal(tripled.begin(), tripled.end(), upstream.sizes.begin() + 5));
}
TEST(Arena, StopsGrowingBlocksAtTheLargest) {
  CountingResource upstream;
  arena memory(arena_options{.first_block_bytes = 4 << 20, .upstream = &upstream});
  for (int i = 0; i < 60; ++i) memory.allocate(1000000);
  EXPECT_EQ(upstream.sizes[1], std::size_t{12} << 20);
  EXPECT_EQ(upstream.sizes.back(), std::size_t{16} << 20);
  arena limited(arena_options{.largest_block_bytes = 64 << 10, .upstream = &upstream});
  upstream.sizes.clear();
  for (int i = 0; i < 5000; ++i) limited.allocate(1000);
  EXPECT_EQ(*std::max_element(upstream.sizes.begin(), upstream.sizes.end()), std::size_t{64} << 10);
}
// A spike's large block does not stay because part of it is in use, and what takes its place fits.
TEST(Arena, TakesASmallerBlockAfterASpike) {
  CountingResource upstream;
  arena memory(arena_options{.upstream = &upstream});
  const auto cycle = [&](std::size_t bytes) {
    for (std::size_t given = 0; given < bytes; given += 1000) memory.allocate(1000);
    memory.reset();
  };
  cycle(16000000);
  for (int i = 0; i < 20; ++i) cycle(1000000);
  EXPECT_LE(upstream.live_bytes, 2200000U);
  const std::size_t before = upstream.allocations;
  for (int i = 0; i < 100; ++i) cycle(i % 4 == 0 ? 1000000 : 1000);
  EXPECT_LE(upstream.allocations, before + 1);
}
// A quarter of 64 KiB, or of all blocks if they are larger or smaller.
TEST(Arena, LargeRequestsAreThoseAboveAQuarterOfABlock) {
  const auto large_bytes = [](const arena_options& options, std::size_t bytes) {
    arena memory(options);
    memory.allocate(bytes);
    return memory.usage().large_bytes;
  };
  EXPECT_EQ(large_bytes({}, 16000), 0U);
  EXPECT_GE(large_bytes({}, 17000), 17000U);
  EXPECT_EQ(large_bytes({.first_block_bytes = 1 << 20}, 260000), 0U);
  EXPECT_GE(large_bytes({.first_block_bytes = 1 << 20}, 263000), 263000U);
  EXPECT_GE(large_bytes({.largest_block_bytes = 8192}, 2100), 2100U);
}

// Less than half of a block is used each time.
TEST(Arena, AsksUpstreamOnceForSmallCycles) {
  CountingResource upstream;
  arena memory(arena_options{.upstream = &upstream});
  for (int i = 0; i < 1000; ++i) {
    memory.allocate(i % 3 == 0 ? 2000 : 20);
    memory.reset();
  }
  EXPECT_EQ(upstream.allocations, 1U);
}
TEST(Arena, AsksUpstreamOnceForLoadsThatAlternate) {
  for (const std::size_t objects : {600U, 1500U, 2300U, 2842U, 5000U, 5405U, 12000U, 40000U}) {
    CountingResource upstream;
    arena memory(arena_options{.upstream = &upstream});
    std::size_t after_warm_up = 0;
    for (int i = 0; i < 200; ++i) {
      for (std::size_t k = 0; k < (i % 4 == 0 ? objects : 100); ++k) memory.allocate(16 + k % 200);
      memory.reset();
      if (i == 40) after_warm_up = upstream.allocations;
    }
    EXPECT_EQ(upstream.allocations, after_warm_up) << objects << " objects";
  }
}

// Its large blocks can be locked: who reads one of them ends the program.
class LockableResource : public std::pmr::memory_resource {
 public:
  std::size_t allocations = 0;
  LockableResource() = default;
  LockableResource(const LockableResource&) = delete;
  LockableResource& operator=(const LockableResource&) = delete;
  ~LockableResource() override { munmap(memory_, reserved_bytes); }
  void lock() { ASSERT_EQ(mprotect(memory_, given_bytes_, PROT_NONE), 0); }
  void unlock() { ASSERT_EQ(mprotect(memory_, given_bytes_, PROT_READ | PROT_WRITE), 0); }

 private:
  static constexpr std::size_t reserved_bytes = std::size_t{400} << 20;
  static bool is_large(std::size_t bytes) { return bytes >= 16384; }
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    ++allocations;
    if (!is_large(bytes)) return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    std::byte* first = memory_ + given_bytes_;
    given_bytes_ += (bytes + 65535) & ~std::size_t{65535};
    if (given_bytes_ > reserved_bytes) throw std::bad_alloc();
    return first;
  }
  void do_deallocate(void* first, std::size_t bytes, std::size_t alignment) override {
    if (!is_large(bytes)) std::pmr::new_delete_resource()->deallocate(first, bytes, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::byte* memory_ = static_cast<std::byte*>(mmap(nullptr, reserved_bytes, PROT_READ | PROT_WRITE,
                                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  std::size_t given_bytes_ = 0;
};

// 4,000 large blocks of one size, then requests of another: no spare block is looked at.
TEST(Arena, FindsLargeBlocksBySize) {
  LockableResource upstream;
  arena memory(arena_options{.upstream = &upstream});
  for (int i = 0; i < 4000; ++i) memory.allocate(20000);
  memory.reset();
  const std::size_t first = upstream.allocations;
  upstream.lock();
  for (int i = 0; i < 100; ++i) memory.allocate(30000);
  upstream.unlock();
  EXPECT_EQ(upstream.allocations, first + 100) << "a spare block would waste a third";
  for (int i = 0; i < 100; ++i) memory.allocate(19000);
  EXPECT_EQ(upstream.allocations, first + 100) << "a spare block is large enough";
  arena other(arena_options{.upstream = &upstream});
  other.allocate(50000);
  other.reset();
  const std::size_t before = upstream.allocations;
  other.allocate(20000);
  EXPECT_EQ(upstream.allocations, before + 1) << "the spare block is far too large";
}

TEST(Arena, AScratchThatConflictsIsTheOther) {
  const heapwright::scratch outer;
  auto* kept = outer->create<int>(0);
  {
    const heapwright::scratch inner(*outer);
    EXPECT_NE(&*inner, &*outer);
    inner->create<int>(1);
    kept = outer->create<int>(5);  // the result, in the caller's arena
    const heapwright::scratch innermost(*inner);
    EXPECT_EQ(&*innermost, &*outer);
  }
  auto* after = outer->create<int>(6);
  EXPECT_EQ(*kept, 5);
  EXPECT_NE(after, kept);
}
TEST(Arena, ScratchScopesAskTheHeapOnce) {
  const auto allocations = [] {
    const heapwright::scratch s;
    s->allocate(100);
    return s->usage().upstream_allocations;
  };
  const auto before = allocations();
  for (int i = 0; i < 1000; ++i) allocations();
  EXPECT_EQ(allocations(), before);
}

// What lies in the caller's buffer stays when the unused memory goes.
TEST(Arena, ShrinksWithinTheCallersBuffer) {
  CountingResource upstream;
  alignas(16) std::array<std::byte, 1024> buffer;
  arena memory(buffer, arena_options{.upstream = &upstream});
  memory.allocate(5000);
  memory.reset();
  auto* first = memory.create<std::string>("too long for the small buffer");
  memory.shrink();
  EXPECT_EQ(upstream.live_bytes, 0U);
  auto* second = memory.create<std::string>("another, too long as well");
  EXPECT_NE(first, second);
  EXPECT_EQ(*first, "too long for the small buffer");
}

// Says of which size it was asked, and has no memory.
class MemorylessResource : public std::pmr::memory_resource {
 public:
  std::size_t most = 0;

 private:
  void* do_allocate(std::size_t bytes, std::size_t) override {
    if (bytes < 8192) return std::malloc(bytes);
    most = std::max(most, bytes);
    throw std::bad_alloc();
  }
  void do_deallocate(void* first, std::size_t, std::size_t) override { std::free(first); }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

TEST(Arena, NeverAsksForLessThanItNeeds) {
  MemorylessResource upstream;
  for (int bits = 14; bits < 64; ++bits) {
    for (const std::size_t eighth : {8U, 11U, 13U, 15U}) {
      arena memory(arena_options{.upstream = &upstream});
      const std::size_t bytes = (std::size_t{1} << bits) / 8 * eighth;
      upstream.most = 0;
      EXPECT_THROW(memory.allocate(bytes), std::bad_alloc);
      EXPECT_TRUE(upstream.most == 0 || upstream.most >= bytes) << bytes;
    }
  }
}

TEST(Arena, TakesMarkersThatWereNotRewoundBelow) {
  arena memory;
  const auto lowest = memory.mark();
  memory.allocate(10);
  const auto middle = memory.mark();
  for (int i = 0; i < 3; ++i) {
    memory.allocate(1000);
    memory.allocate(50000);
    const auto high = memory.mark();
    memory.allocate(10);
    memory.rewind(high);
    memory.rewind(high);
    memory.rewind(middle);
  }
  memory.rewind(lowest);
  EXPECT_EQ(memory.usage().requested_bytes, 0U);
}

}  // namespace
