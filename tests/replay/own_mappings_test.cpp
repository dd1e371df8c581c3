// SPDX-License-Identifier: MIT
// Memory that the program mapped by itself.
#include "replay/own_mappings.hpp"

#include "replay/changed_plans.hpp"
#include "replay/report_reading.hpp"

namespace heapwright::replay {
namespace {

trace::ResidencyScan scan_of(std::vector<trace::PageRun> runs) {
  trace::ResidencyScan scan;
  scan.runs = std::move(runs);
  return scan;
}

std::uint64_t seen(OwnMappings& mappings, std::vector<trace::PageRun> runs) {
  static std::uint64_t time_ns = 0;
  mappings.see(scan_of(std::move(runs)), ++time_ns);
  return mappings.resident_at(time_ns) / page;
}

TEST(OwnMappings, HaveWhatIsResidentInTheirRanges) {
  OwnMappings mappings;
  mappings.map(10 * page, 10 * page - 5);
  mappings.map(30 * page, page);
  using enum trace::PageKind;
  EXPECT_EQ(seen(mappings, {{5 * page, 12 * page}, {14 * page, 16 * page, swapped}, {18 * page, 25 * page}}),
            6u);
  EXPECT_EQ(seen(mappings, {{12 * page, 14 * page, file}, {30 * page, 40 * page}}), 1u);
  EXPECT_TRUE(mappings.unmap(12 * page, 2 * page));
  EXPECT_EQ(seen(mappings, {{0, 50 * page}}), 9u);
  EXPECT_TRUE(mappings.unmap(9 * page, 3 * page));
  EXPECT_TRUE(mappings.unmap(19 * page, 12 * page));
  EXPECT_EQ(seen(mappings, {{0, 50 * page}}), 5u);
  EXPECT_FALSE(mappings.unmap(19 * page, 12 * page));
  mappings.map(15 * page, 2 * page);  // in the place of what was there
  EXPECT_EQ(seen(mappings, {{0, 50 * page}}), 5u);
}

TEST(OwnMappings, GrowInAStraightLineBetweenScans) {
  OwnMappings mappings;
  mappings.map(0x100000, 100 * page);
  EXPECT_EQ(mappings.resident_at(5), 0u);
  mappings.see(scan_of({{0x100000, 0x100000 + 10 * page}}), 100);
  mappings.see(scan_of({{0x100000, 0x100000 + 30 * page}}), 300);
  EXPECT_EQ(mappings.resident_at(50), 5 * page);
  EXPECT_EQ(mappings.resident_at(100), 10 * page);
  EXPECT_EQ(mappings.resident_at(200), 20 * page);
  EXPECT_EQ(mappings.resident_at(1000), 30 * page);
}

void scan_at(order::MemoryTrace& trace, std::uint64_t time_ns, std::vector<trace::PageRun> runs) {
  order::MemoryTrace::Scan scan;
  scan.chunk.begin_ns = scan.chunk.end_ns = time_ns;
  scan.scan = scan_of(std::move(runs));
  trace.scan_records.push_back(scan);
}

trace::Module library(std::uint64_t start_page, std::uint64_t end_page) {
  trace::Module module;
  module.start = start_page * page;
  module.end = end_page * page - 1;
  return module;
}

// 3 pages at the start, 10 once another library is there, whose range holds a third one's for a part.
TEST(OwnMappings, HaveWhatLibrariesWroteToAfterTheFirstScan) {
  auto trace = trace_of_threads(1);
  trace.module_records = {library(100, 110), library(200, 220), library(210, 230)};
  const std::vector<trace::PageRun> first = {{102 * page, 105 * page}};
  std::vector<trace::PageRun> second = first;
  second.push_back({105 * page, 109 * page, trace::PageKind::file});
  second.push_back({212 * page, 219 * page});
  scan_at(trace, 10, first);
  scan_at(trace, 20, second);
  trace.seal();
  OwnMappings mappings(trace);
  mappings.see(scan_of(first), 10);
  mappings.see(scan_of(second), 20);
  mappings.see(scan_of({}), 30);
  EXPECT_EQ(mappings.resident_at(10), 0u);
  EXPECT_EQ(mappings.resident_at(20), 7 * page);
  EXPECT_EQ(mappings.resident_at(30), 0u);
}

order::Call mapping(trace::EventKind kind, std::uint64_t begin_ns, std::uint64_t address, std::uint64_t pages,
                    std::uint64_t usable = 0, std::uint64_t old_address = 0) {
  return {.kind = kind,
          .begin_ns = begin_ns,
          .size = pages * page,
          .usable = usable,
          .address = address,
          .old_address = old_address};
}

// Of private memory of no file alone.
TEST(OwnMappings, AreInEachMarkOfAPlan) {
  auto trace = trace_of_threads(1);
  constexpr std::uint64_t own = 3 | 0x22 << 8;
  constexpr std::uint64_t thousand = 1000;  // no heap of one block has so much
  using enum trace::EventKind;
  trace.malloc(0, 100, 0x1000, 40);
  trace.add(0, mapping(mmap_, 110, 0x10000000, 16 * thousand, own));
  trace.add(0, mapping(mmap_, 120, 0x20000000, 16 * thousand, 3 | 0x21 << 8));
  trace.add(0, mapping(mmap_, 130, 0x30000000, 16 * thousand, 3 | 0x02 << 8));
  trace.add(0, mapping(mremap_, 140, 0x40000000, 32 * thousand, 16 * thousand * page, 0x10000000));
  trace.add(0, mapping(mremap_, 150, 0x50000000, 32 * thousand, 16 * thousand * page, 0x30000000));
  trace.add(0, mapping(munmap_, 160, 0x40000000, 4 * thousand));
  trace.free(0, 900, 0x1000);
  for (const std::uint64_t time_ns : {50U, 300U, 900U}) read_memory_at(trace, time_ns);
  order::MemoryTrace::Scan scan;
  scan.chunk.begin_ns = 190;
  scan.chunk.end_ns = 200;
  scan.scan = scan_of({{0x10000000, 0x60000000}});
  trace.scan_records.push_back(scan);
  const PlanOf plan(trace);
  const PlanFile file(plan.path());
  ASSERT_EQ(file.marks().size(), 3u);
  EXPECT_EQ(file.marks()[0].mapped_bytes, 7 * thousand * page);
  EXPECT_EQ(file.marks()[1].mapped_bytes, 28 * thousand * page);
  EXPECT_EQ(file.marks()[2].mapped_bytes, 28 * thousand * page);
  Stage stage(plan.path());
  RecordedOrder order(stage, 0, 0);
  order.run();
  figures::Report report;
  order.report(report);
  const auto bytes = series_of(report, "mark_bytes");
  EXPECT_GE(bytes[1], 28 * thousand * page);
  EXPECT_GE(figure_of(report, "end_bytes"), 28 * thousand * page);
}

}  // namespace
}  // namespace heapwright::replay
