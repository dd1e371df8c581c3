// SPDX-License-Identifier: MIT
// What a replay makes resident. Not under a sanitizer, whose heap keeps what is freed.
#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "replay/changed_plans.hpp"
#include "replay/dependency_order.hpp"
#include "replay/plan_of.hpp"
#include "replay/recorded_order.hpp"
#include "replay/report_reading.hpp"

namespace heapwright::replay {
namespace {

constexpr std::uint64_t mebi = std::uint64_t{1} << 20U;

TEST(RecordedOrder, ReadsTheMemoryAtTheMarks) {
  auto trace = trace_of_threads(2);
  read_memory_at(trace, 50);
  trace.malloc(0, 100, 0x1000, 64 * mebi);
  read_memory_at(trace, 200);
  trace.free(1, 300, 0x1000);
  read_memory_at(trace, 400);
  const PlanOf plan(trace);
  Stage stage(plan.path());
  RecordedOrder order(stage, 0, 0);
  order.run();
  figures::Report report;
  order.report(report);
  report.finish();
  const auto bytes = series_of(report, "mark_bytes");
  ASSERT_EQ(bytes.size(), 3u);
  EXPECT_NEAR(bytes[1] - bytes[0], 64 * mebi, mebi);
  EXPECT_LT(bytes[2] - bytes[0], mebi);
  EXPECT_EQ(figure_of(report, "peak_bytes"), bytes[1]);
  EXPECT_NEAR(figure_of(report, "highest_bytes") - bytes[0], 64 * mebi, 2 * mebi);
  EXPECT_LT(figure_of(report, "end_bytes") - bytes[0], mebi);
}

TEST(RecordedOrder, ItsOwnMemoryDoesNotCount) {
  auto trace = trace_of_threads(1);
  read_memory_at(trace, 50);
  for (std::uint64_t i = 0; i < 400'000; ++i) trace.malloc(0, 100 + i * 16, 0x1000 + i * 16, 1);
  const PlanOf plan(trace);
  const auto before_bytes = static_cast<double>(figures::anonymous_memory().resident_bytes);
  Stage stage(plan.path());  // 400,000 slots are 6.1 MiB
  EXPECT_GT(stage.grown_bytes(), 6 * mebi);
  RecordedOrder order(stage, 0, 0);
  order.run();
  figures::Report report;
  order.report(report);
  report.finish();
  EXPECT_NEAR(series_of(report, "mark_bytes")[0], before_bytes, 512 * 1024);
}

TEST(Touch, OnlyTheSharesOfABlockThatAreTouchedBecomeResident) {
  constexpr std::uint64_t pages = 196;
  void* memory = mmap(nullptr, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, pages * 4096, MADV_NOHUGEPAGE);
  const auto resident_pages = [&] {
    std::array<unsigned char, pages> is_there{};
    mincore(memory, pages * 4096, is_there.data());
    return std::count_if(is_there.begin(), is_there.end(),
                         [](unsigned char page) { return (page & 1U) != 0; });
  };
  Operation operation;
  operation.kind = static_cast<unsigned>(trace::EventKind::malloc_) & 0x7fU;
  operation.size = pages * 4096;
  operation.touch = 0;
  Slot slot;
  slot.block = memory;
  touch(operation, slot);
  EXPECT_EQ(resident_pages(), 0);
  operation.touch = touch_even + 94;  // 100 of 196
  touch(operation, slot);
  EXPECT_EQ(resident_pages(), 100);
  madvise(memory, 100 * 4096, MADV_DONTNEED);
  operation.touch = touch_all;
  operation.generation = 1;  // a realloc: what was touched before is not touched again
  touch(operation, slot);
  EXPECT_EQ(resident_pages(), static_cast<long>(pages - 100));
  munmap(memory, pages * 4096);
}

// Large blocks are taken again, and small ones share pages with others anyway.
TEST(Reuse, KeepsLargeFreedBlocksOfItsSites) {
  const auto pages_taken = [](Change change) {
    auto trace = trace_of_threads(1);
    for (std::uint64_t i = 0; i < 40; ++i) {
      trace.malloc(0, 1000 + i * 1000, 0x100000000ULL, 2 * mebi, chosen);
      trace.free(0, 1500 + i * 1000, 0x100000000ULL);
    }
    const PlanOf plan(trace, request_of(change));
    Stage stage(plan.path());
    const auto before = figures::minor_faults();
    DependencyOrder(stage, false).run();
    return figures::minor_faults() - before;
  };
  EXPECT_LT(pages_taken(Change::reuse), 5 * 2 * mebi / page);
}

// The allocator gives back what is freed: fresh pages tell which buffers the cache did not keep.
void check_what_is_kept() {
  const auto faults_with = [&](cached_buffers::Settings settings) {
    auto trace = trace_of_threads(1);
    for (std::uint64_t i = 0; i < 40; ++i) {
      for (const std::uint64_t address : {0x100000000ULL, 0x200000000ULL}) {
        trace.malloc(0, 1000 + i * 1000, address, 2 * mebi, chosen);
        trace.free(0, 1500 + i * 1000, address);
      }
    }
    const PlanOf plan(trace, request_of(ChangePart{Change::buffer_cache, 0, settings}));
    Stage stage(plan.path());
    const auto before = figures::minor_faults();
    DependencyOrder(stage, false).run();
    return figures::minor_faults() - before;
  };
  using cached_buffers::Policy;
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  const std::uint64_t block_pages = 2 * mebi / page;
  EXPECT_GT(faults_with({1 * mebi, 256, Policy::learnt_cutoff}), 70 * block_pages) << "too large for it";
  EXPECT_LT(faults_with({8 * mebi, 256, Policy::learnt_cutoff}), 10 * block_pages);
  EXPECT_LT(faults_with({8 * mebi, 256, Policy::calibrated_pool}), 10 * block_pages);
  EXPECT_LT(faults_with({8 * mebi, 256, Policy::keep_the_larger}), 10 * block_pages);
  EXPECT_GT(faults_with({8 * mebi, 256, Policy::fixed_cutoff_65536}), 70 * block_pages) << "above its cutoff";
}

// In a process of its own: what earlier tests freed would serve, with its pages.
TEST(CachedBuffers, KeepsWhatItsSettingsAllow) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        check_what_is_kept();
        std::exit(HasFailure() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace heapwright::replay
