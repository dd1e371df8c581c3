// SPDX-License-Identifier: MIT
// A forked child stands still; its blocks are parts of a mapping, as the test says.
#include "collect/heap_snapshot.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <stdexcept>
#include <string>

#include "collect/proc_files.hpp"
#include "tracee/process_status.hpp"

namespace heapwright::collect::test {

// A root by name.
std::uint64_t* heap_snapshot_test_root = nullptr;

struct HeapSnapshotTestObject {
  virtual ~HeapSnapshotTestObject() = default;
};

namespace {

constexpr std::size_t region_bytes = 1U << 16;
constexpr std::size_t block_bytes = 64;
// Pages apart, so that some pages between them are not resident.
constexpr std::size_t apart_words = 2 * 4096 / sizeof(std::uint64_t);

class HeapSnapshotTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // Far from everything, as lists of mappings from the test before are still in our heap, and the child's.
    static std::uint64_t place = 0x6a0000000000;
    place += 1U << 30;
    void* const made = mmap(reinterpret_cast<void*>(place), region_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    ASSERT_NE(made, MAP_FAILED);
    words_ = static_cast<std::uint64_t*>(made);
    heap_snapshot_test_root = words_;                       // the first block
    words_[2] = address_of(1) + 8;                          // of it, into the second
    new (words_ + apart_words) HeapSnapshotTestObject;      // the second
    words_[3 * apart_words] = address_of(2);                // of the fourth, which nothing leads to
    words_[apart_words + 4] = words_[4 * apart_words] = 1;  // resident
    child_ = fork();
    if (child_ == 0) {
      for (;;) pause();
    }
    // Only here: the child would have these addresses as well.
    for (std::uint32_t block = 0; block < 4; ++block) {
      heap_.blocks.push_back({address_of(block), block_bytes, block});
      heap_.usable.push_back(block_bytes);
    }
  }

  void TearDown() override {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    // The region stays: pointers to it are left in our heap, and the next test needs other addresses.
    heap_snapshot_test_root = nullptr;
  }

  std::uint64_t address_of(std::uint32_t block) const {
    return reinterpret_cast<std::uint64_t>(words_ + block * apart_words);
  }

  trace::HeapGraph snapshot() {
    ProcessImage image =
        prepare_image(static_cast<std::uint32_t>(child_), {}, {.copies_ahead = false, .is_unaligned = false});
    tracee::StoppedProcess process(child_);
    EXPECT_EQ(process.stop(std::chrono::seconds(5)), "");
    read_image(process, image);
    process.resume();
    LiveHeap heap = heap_;
    return snapshot_of({image, heap, false});
  }

  static bool has(const trace::HeapGraph& graph, const trace::GraphEdge& edge) {
    return std::find(graph.edges.begin(), graph.edges.end(), edge) != graph.edges.end();
  }

  // The roots that lead to a block.
  static std::vector<trace::GraphRoot> roots_of(const trace::HeapGraph& graph, std::uint32_t block) {
    std::vector<trace::GraphRoot> found;
    for (const trace::GraphEdge& edge : graph.edges) {
      if (edge.to == block && edge.from >= graph.nodes.size()) {
        found.push_back(graph.roots[edge.from - graph.nodes.size()]);
      }
    }
    return found;
  }

  std::uint64_t* words_ = nullptr;
  LiveHeap heap_;
  pid_t child_ = 0;
};

}  // namespace

TEST_F(HeapSnapshotTest, HasThePointersOfBlocksAndOfVariables) {
  const trace::HeapGraph graph = snapshot();
  EXPECT_TRUE(has(graph, {0, 1, 2 * sizeof(std::uint64_t), true}));
  EXPECT_TRUE(has(graph, {3, 2, 0, false}));
  const auto roots = roots_of(graph, 0);
  EXPECT_TRUE(std::any_of(roots.begin(), roots.end(), [](const trace::GraphRoot& root) {
    return root.kind == trace::RootKind::data &&
           root.symbol == "heapwright::collect::test::heap_snapshot_test_root";
  }));
}

TEST_F(HeapSnapshotTest, MemoryWithBlocksThatAreNotKnownHoldsTheKnownOnes) {
  heap_.blocks.pop_back();
  heap_.usable.pop_back();
  const auto is_older = [](const trace::GraphRoot& root) {
    return root.kind == trace::RootKind::older_blocks;
  };
  const auto has_older = [&](const trace::HeapGraph& graph, std::uint32_t block) {
    const auto roots = roots_of(graph, block);
    return std::any_of(roots.begin(), roots.end(), is_older);
  };
  EXPECT_FALSE(has_older(snapshot(), 2)) << "an allocator's memory, which may hold anything";
  heap_.has_every_block = false;
  const trace::HeapGraph graph = snapshot();
  EXPECT_TRUE(has_older(graph, 2));
  EXPECT_FALSE(has_older(graph, 1)) << "only a known block has a pointer to it";
}

TEST_F(HeapSnapshotTest, AWordThatABlockEndsInIsNoPointer) {
  heap_.blocks[3].size = 5;  // its first word leads to the third block
  EXPECT_FALSE(has(snapshot(), {3, 2, 0, false}));
  heap_.blocks[3].size = 8;
  EXPECT_TRUE(has(snapshot(), {3, 2, 0, false}));
}

TEST_F(HeapSnapshotTest, AnObjectWithVirtualFunctionsHasItsType) {
  const trace::HeapGraph graph = snapshot();
  ASSERT_EQ(graph.types, std::vector<std::string>{"heapwright::collect::test::HeapSnapshotTestObject"});
  EXPECT_EQ(graph.type_of, (std::vector<std::uint32_t>{0, 1, 0, 0}));
}

TEST_F(HeapSnapshotTest, YoungBlocksAreHeldByTheCallThatMadeThem) {
  heap_.young = {3};
  const auto roots = roots_of(snapshot(), 3);
  ASSERT_FALSE(roots.empty());
  EXPECT_EQ(roots.back().kind, trace::RootKind::young);
}

TEST_F(HeapSnapshotTest, ABlockThatWasFreedMeanwhileHoldsWhatItPointedTo) {
  heap_.ended = {{address_of(3), address_of(3) + block_bytes}};
  heap_.blocks.pop_back();
  heap_.usable.pop_back();
  const auto roots = roots_of(snapshot(), 2);
  ASSERT_FALSE(roots.empty());
  EXPECT_EQ(roots.back().kind, trace::RootKind::moving);
}

// A child that protects its memory and stands still; what it has written to before holds blocks none the
// less.
class ProtectedMemoryTest : public ::testing::TestWithParam<int> {
 protected:
  static constexpr std::size_t page_bytes = 4096;
  static constexpr std::uint64_t place = 0x6b0000000000;

  // A pointer on the page to a block on the next one.
  static pid_t started() {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
      void* const made = mmap(reinterpret_cast<void*>(place), 2 * page_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      *static_cast<std::uint64_t*>(made) = place + page_bytes;
      const bool is_done = mprotect(made, page_bytes, GetParam()) == 0;
      if (!is_done || write(ready[1], "", 1) != 1) _exit(1);
      for (;;) pause();
    }
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    for (const int end : ready) close(end);
    return child;
  }
};

TEST_P(ProtectedMemoryTest, HoldsWhatItHeldBefore) {
  const pid_t child = started();
  ProcessImage image = prepare_image(static_cast<std::uint32_t>(child), {}, {});
  tracee::StoppedProcess process(child);
  EXPECT_EQ(process.stop(std::chrono::seconds(30)), "");
  read_image(process, image);
  process.resume();
  LiveHeap heap;
  heap.blocks.push_back({place + page_bytes, 64, 0});
  heap.usable.push_back(64);
  const trace::HeapGraph graph = snapshot_of({image, heap, false});
  EXPECT_TRUE(std::any_of(graph.edges.begin(), graph.edges.end(), [&](const trace::GraphEdge& edge) {
    return edge.from >= 1 && graph.roots[edge.from - 1].kind == trace::RootKind::mapping;
  }));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

INSTANTIATE_TEST_SUITE_P(Protection, ProtectedMemoryTest,
                         ::testing::Values(PROT_READ, PROT_READ | PROT_EXEC, PROT_NONE));

// It is killed while it stands still.
TEST_F(HeapSnapshotTest, AProcessThatEndsMeanwhileIsTold) {
  ProcessImage image = prepare_image(static_cast<std::uint32_t>(child_), {}, {});
  tracee::StoppedProcess process(child_);
  ASSERT_EQ(process.stop(std::chrono::seconds(30)), "");
  kill(child_, SIGKILL);
  while (!tracee::has_no_memory(child_)) usleep(1000);
  try {
    read_image(process, image);
    FAIL() << "nothing was left to be read";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "it has ended");
  }
  EXPECT_THROW(prepare_image(static_cast<std::uint32_t>(child_), {}, {}), std::runtime_error);
}

// While it is copied, and before it stands still, it moves a pointer, frees a page and maps another.
TEST(HeapSnapshot, WhatChangesAfterMostWasCopiedIsSeen) {
  constexpr std::size_t large_bytes = std::size_t{96} << 20U;
  void* const made =
      mmap(nullptr, large_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  ASSERT_NE(made, MAP_FAILED);
  auto* const words = static_cast<std::uint64_t*>(made);
  const auto address = [&](std::size_t page) { return reinterpret_cast<std::uint64_t>(words + page * 512); };
  words[512] = words[512 * 2 + 1] = words[512 * 3 + 1] = address(9);
  int asked[2];
  int answered[2];
  ASSERT_EQ(pipe(asked), 0);
  ASSERT_EQ(pipe(answered), 0);
  char byte = 0;
  const pid_t child = fork();
  if (child == 0) {
    if (read(asked[0], &byte, 1) != 1) _exit(1);
    words[512 * 2 + 1] = 0;
    words[512 * 4 + 2] = address(9);
    madvise(words + 512 * 3, 4096, MADV_DONTNEED);
    if (write(answered[1], &byte, 1) != 1) _exit(1);
    for (;;) pause();
  }
  ProcessImage image = prepare_image(static_cast<std::uint32_t>(child), {}, {});
  EXPECT_EQ(image.copied.empty(), !can_tell_changed_pages());
  ASSERT_EQ(write(asked[1], &byte, 1), 1);
  ASSERT_EQ(read(answered[0], &byte, 1), 1);
  tracee::StoppedProcess process(child);
  EXPECT_EQ(process.stop(std::chrono::seconds(5)), "");
  read_image(process, image);
  process.resume();
  LiveHeap heap;
  for (std::uint32_t page = 1; page < 10; ++page) {
    heap.blocks.push_back({address(page), 4096, page});
    heap.usable.push_back(4096);
  }
  const trace::HeapGraph graph = snapshot_of({image, heap, false});
  std::vector<trace::GraphEdge> edges;
  for (const trace::GraphEdge& edge : graph.edges) {
    if (edge.from < graph.nodes.size()) edges.push_back(edge);
  }
  EXPECT_EQ(edges, (std::vector<trace::GraphEdge>{{0, 8, 0, false}, {3, 8, 16, false}}));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  munmap(made, large_bytes);
}

}  // namespace heapwright::collect::test
