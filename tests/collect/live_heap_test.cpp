// SPDX-License-Identifier: MIT
#include "collect/live_heap.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "trace/event_rows.hpp"
#include "trace/writer.hpp"

namespace heapwright::collect::test {
namespace {

using trace::EventKind;

// The trace of one thread's calls.
LiveHeap live_after(const std::vector<trace::Event>& events, const LiveHeapWish& wish) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("live_heap." + std::to_string(getpid()) + ".heapwright");
  int error = 0;
  const auto writer = trace::Writer::create(path, true, error);
  EXPECT_NE(writer, nullptr);
  const std::vector<trace::Frame> frames{{0x5555'0000, trace::Frame::no_module, true}};
  const std::vector<trace::StackNode> stacks{{0, 0}};
  EXPECT_TRUE(writer->write(std::span<const trace::Frame>(frames)));
  EXPECT_TRUE(writer->write(std::span<const trace::StackNode>(stacks)));
  trace::EventBatch batch;
  for (const trace::Event& event : events) trace::append(batch, event);
  EXPECT_TRUE(writer->write_events(0, 0, batch));
  EXPECT_TRUE(writer->finish({.reason = trace::EndReason::exited}));
  LiveHeap heap = live_heap_of(trace::Reader::open(path), wish);
  std::filesystem::remove(path);
  return heap;
}

trace::Event call(EventKind kind, std::uint64_t begin_ns, std::uint64_t address, std::uint64_t size = 32) {
  return {.kind = kind, .begin_ns = begin_ns, .size = size, .usable = size, .address = address};
}

}  // namespace

TEST(LiveHeap, HasWhatWasNotFreedByAddressAndKnowsTheYoung) {
  const LiveHeap heap =
      live_after({call(EventKind::malloc_, 1600, 0x3000), call(EventKind::malloc_, 3200, 0x1000),
                  call(EventKind::malloc_, 4800, 0x2000), call(EventKind::free_, 6400, 0x3000),
                  call(EventKind::malloc_, 8000, 0x4000)},
                 {.young_since_ns = 4800});
  ASSERT_EQ(heap.blocks.size(), 3U);
  EXPECT_EQ(heap.blocks[0].address, 0x1000U);
  EXPECT_EQ(heap.blocks[1].address, 0x2000U);
  EXPECT_EQ(heap.young, (std::vector<std::uint32_t>{1, 2})) << "from that time on";
}

TEST(LiveHeap, HasWhereBlocksWereThatWereFreedSince) {
  const LiveHeap heap =
      live_after({call(EventKind::malloc_, 1600, 0x1000), call(EventKind::malloc_, 1600, 0x2000, 48),
                  call(EventKind::free_, 3200, 0x1000), call(EventKind::free_, 4800, 0x2000),
                  call(EventKind::malloc_, 6400, 0x3000), call(EventKind::free_, 8000, 0x3000)},
                 {.ended_since_ns = 4800});
  ASSERT_EQ(heap.ended.size(), 2U);
  EXPECT_EQ(heap.ended[0].begin, 0x2000U);
  EXPECT_EQ(heap.ended[0].end, 0x2030U);
  EXPECT_EQ(heap.ended[1].begin, 0x3000U) << "which was allocated since as well";
}

TEST(LiveHeap, ForgetsMappingsThatAreGone) {
  trace::Event mapped = call(EventKind::mmap_, 1600, 0x10000, 0x4000);
  mapped.stack = 1;
  const LiveHeap heap = live_after({mapped, call(EventKind::munmap_, 3200, 0x11000, 0x1000)}, {});
  ASSERT_EQ(heap.own_mappings.size(), 2U);
  EXPECT_EQ(heap.own_mappings[0].stack, 1U);
  EXPECT_EQ(heap.own_mappings[1].stack, 1U) << "the rest of the same call's";
  EXPECT_EQ(heap.own_mappings[0].range.end, 0x11000U);
  EXPECT_EQ(heap.own_mappings[1].range.begin, 0x12000U);
}

}  // namespace heapwright::collect::test
