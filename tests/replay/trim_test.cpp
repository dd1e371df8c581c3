// SPDX-License-Identifier: MIT
// malloc_trim from time to time, which the program did not call.
#include <algorithm>
#include <initializer_list>

#include "platform/sanitized.hpp"
#include "replay/changed_plans.hpp"
#include "replay/report_reading.hpp"

namespace heapwright::replay {
namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr auto malloc_kind = static_cast<unsigned>(trace::EventKind::malloc_);
constexpr auto trim_kind = static_cast<unsigned>(trace::EventKind::malloc_trim_);

order::MemoryTrace trace_read_at(std::initializer_list<std::uint64_t> times_ms) {
  auto trace = trace_of_threads(2);
  trace.end_record.time_ns = 1000 * ms;
  for (const auto time_ms : times_ms) read_memory_at(trace, time_ms * ms, 1 << 20);
  return trace;
}

ChangeRequest trimmed(std::uint32_t interval_ms) { return request_of({Change::trim, interval_ms}); }

TEST(Trim, IsCalledBeforeTheFirstReadingAfterEachInterval) {
  auto trace = trace_read_at({5, 12, 15, 19, 45, 61});
  trace.malloc(0, 1 * ms, 0x1000, 40);
  trace.malloc(1, 14 * ms, 0x2000, 48);
  trace.malloc(0, 50 * ms, 0x3000, 56);
  const PlanOf plan(trace, trimmed(10));
  // After 10 ms at 12; after 20, 30 and 40 once at 45, by the thread that called last; after 60 at 61.
  EXPECT_EQ(kinds_of(plan, 0), (std::vector<unsigned>{malloc_kind, trim_kind, malloc_kind, trim_kind}));
  EXPECT_EQ(kinds_of(plan, 1), (std::vector<unsigned>{malloc_kind, trim_kind}));
  EXPECT_EQ(plan.header().changed[0].events, 3u);
  EXPECT_EQ(plan.header().changed[0].blocks, 0u);
  const auto operations = plan.operations(0);
  const auto trim = std::find_if(operations.begin(), operations.end(),
                                 [](const Operation& one) { return one.kind == trim_kind; });
  ASSERT_NE(trim, operations.end());
  EXPECT_EQ((trim + 1)->kind, take_mark) << "what is given back is not in the reading";
  run_both(plan);
}

TEST(Trim, IsRefusedWhereNoneWouldBeCalled) {
  auto trace = trace_read_at({5});
  trace.malloc(0, 1 * ms, 0x1000, 40);
  EXPECT_THROW(PlanOf(trace, trimmed(10)), trace::TraceError);
}

TEST(Trim, GivesWholePagesBackThatLieBelowOthers) {
  if (HEAPWRIGHT_SANITIZED != 0) GTEST_SKIP() << "a sanitizer's heap keeps what is freed";
  constexpr std::uint64_t blocks = 20'000;
  constexpr std::uint64_t size = 3000;
  auto trace = trace_read_at({5, 50});
  for (std::uint64_t number = 0; number < blocks; ++number) {
    trace.malloc(0, number, 0x10'0000 * (number + 1), size);
  }
  trace.malloc(0, 2 * ms, 0x1000, 100'000);  // above them: no hole has room for it
  for (std::uint64_t number = 0; number < blocks; ++number) {
    trace.free(0, 10 * ms + number, 0x10'0000 * (number + 1));
  }
  trace.free(0, 60 * ms, 0x1000);  // so that the next tests find no room there
  const auto at_last_reading = [&](const ChangeRequest& change) {
    const PlanOf plan(trace, change);
    Stage stage(plan.path());
    RecordedOrder order(stage, 0, 0);
    order.run();
    figures::Report report;
    order.report(report);
    return series_of(report, "mark_bytes").at(1);
  };
  const auto kept = at_last_reading({});
  if (kept < blocks * size / 2) GTEST_SKIP() << "this allocator gives it back by itself";
  EXPECT_LT(at_last_reading(trimmed(20)), kept / 4);
}

}  // namespace
}  // namespace heapwright::replay
