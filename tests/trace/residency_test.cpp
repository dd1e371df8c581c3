// SPDX-License-Identifier: MIT
// Scans of resident pages come back as written; made by hand, one beyond what
// is allowed is refused.
#include "trace/residency.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <vector>

#include "made_trace.hpp"
#include "trace/format.hpp"

namespace heapwright::trace::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t begin_ns = 1'000'000;

base::ByteSource source_of(const Bytes& bytes) { return {bytes.data(), bytes.size()}; }

Bytes records(const std::vector<std::vector<std::uint64_t>>& all) {
  Bytes out;
  std::uint8_t bytes[base::max_varint_bytes];
  for (const auto& fields : all) {
    Bytes record;
    for (const std::uint64_t value : fields) {
      record.insert(record.end(), bytes, base::put_varint(bytes, value));
    }
    out.insert(out.end(), bytes, base::put_varint(bytes, record.size()));
    out.insert(out.end(), record.begin(), record.end());
  }
  return out;
}

std::string refusal_of(const std::function<void()>& decode) {
  try {
    decode();
  } catch (const TraceError& error) {
    return error.what();
  }
  return "decoded";
}

const std::vector<std::uint64_t> good_head = {1, 1, 4096};

std::string refusal_of_windows(const std::vector<std::vector<std::uint64_t>>& windows,
                               const std::vector<std::uint64_t>& head = good_head) {
  std::vector<std::vector<std::uint64_t>> all = {head};
  all.insert(all.end(), windows.begin(), windows.end());
  const Bytes bytes = records(all);
  return refusal_of(
      [&] { decode_residency(source_of(bytes), static_cast<std::uint32_t>(all.size()), begin_ns); });
}

void expect_equal_scans(const ResidencyScan& a, const ResidencyScan& b) {
  EXPECT_EQ(a.cause, b.cause);
  EXPECT_EQ(a.is_whole, b.is_whole);
  EXPECT_EQ(a.before, b.before);
  EXPECT_EQ(a.after, b.after);
  EXPECT_EQ(a.cpu_ns, b.cpu_ns);
  EXPECT_EQ(a.windows, b.windows);
  EXPECT_EQ(a.runs, b.runs);
}

}  // namespace

TEST(Residency, AScanComesBackFromAFile) {
  const TemporaryFile file("residency");
  write_small_trace(file.path(), 1, 10);
  const Reader reader = Reader::open(file.path());
  EXPECT_TRUE(reader.damage().empty());
  ASSERT_EQ(reader.scans().size(), 1U);
  const ScanChunk& chunk = reader.scans()[0];
  EXPECT_EQ(chunk.begin_ns, begin_ns);
  EXPECT_EQ(chunk.end_ns, 1'200'000U);
  EXPECT_EQ(chunk.resident_bytes, made_scan(begin_ns).resident_bytes());
  expect_equal_scans(reader.decode(chunk), made_scan(begin_ns));
  EXPECT_EQ(reader.mappings_of(chunk), made_mappings());
}

TEST(Residency, AScanCountsItsResidentPages) {
  constexpr std::uint64_t page = 4096;
  EXPECT_EQ(made_scan(begin_ns).resident_bytes(), (3 + 32 + 1 + 1) * page) << "without the swapped one";
  EXPECT_EQ(ResidencyScan{}.resident_bytes(), 0U);
}

TEST(Residency, ScansComeInOrderOfTimeEachWithItsMappings) {
  const TemporaryFile file("residency_order");
  int error = 0;
  const auto writer = Writer::create(file.path(), false, error);
  std::vector<Mapping> later = made_mappings();
  later.pop_back();
  EXPECT_TRUE(writer->write_mappings(0, made_mappings()));
  EXPECT_TRUE(writer->write_mappings(1, later));
  EXPECT_TRUE(writer->write_scan(1, 5'000'000, 6'000'000, made_scan(5'000'000)));
  EXPECT_TRUE(writer->write_scan(0, begin_ns, 2'000'000, made_scan(begin_ns)));
  EXPECT_TRUE(writer->write_scan(9, 7'000'000, 8'000'000, made_scan(7'000'000)));
  EXPECT_TRUE(writer->finish({EndReason::exited}));
  const Reader reader = Reader::open(file.path());
  ASSERT_EQ(reader.scans().size(), 3U);
  EXPECT_EQ(reader.scans()[0].begin_ns, begin_ns);
  EXPECT_EQ(reader.mappings_of(reader.scans()[0]), made_mappings());
  EXPECT_EQ(reader.mappings_of(reader.scans()[1]), later);
  EXPECT_TRUE(reader.mappings_of(reader.scans()[2]).empty()) << "its list is lost";
}

TEST(Residency, ADamagedScanIsRefusedAndTheRestReads) {
  const TemporaryFile file("residency_damage");
  write_small_trace(file.path(), 1, 10);
  const ScanChunk chunk = Reader::open(file.path()).scans()[0];
  std::vector<char> content = content_of(file.path());
  content[chunk.file_offset + chunk.bytes - 2] ^= 1;
  put_content(file.path(), content);
  const Reader reader = Reader::open(file.path());
  EXPECT_EQ(reader.memory_samples().size(), 2U);
  EXPECT_THROW(reader.decode(reader.scans()[0]), TraceError);
}

TEST(Residency, WindowsAndRunsStayWhereTheyMay) {
  EXPECT_EQ(refusal_of_windows({{1, 10, 5, 5, 1, 2, 8 << 3U}}), "decoded");
  EXPECT_EQ(refusal_of_windows({{1, 10, 5, 5, 1, 2, 9 << 3U}}), "a run of pages leaves its window");
  EXPECT_EQ(refusal_of_windows({{1, 10, 5, 5, 1, 2, 0}}), "a run of pages leaves its window") << "empty";
  EXPECT_EQ(refusal_of_windows({{1, 10, 5, 5, 1, 2, (8 << 3U) | 3U}}),
            "a scan holds an unknown kind of page");
  EXPECT_EQ(refusal_of_windows({{1, 10, 5, 5, 2, 2, 8 << 3U}}), "a record is cut short");
  constexpr std::uint64_t most = max_address / residency_unit_bytes;
  EXPECT_EQ(refusal_of_windows({{1, most - 1, 5, 5, 0}}), "decoded");
  EXPECT_EQ(refusal_of_windows({{1, most, 5, 5, 0}}), "a scan leaves the address space");
  EXPECT_EQ(refusal_of_windows({{1, 10, max_time_ns - begin_ns, 0, 0}}), "decoded");
  EXPECT_EQ(refusal_of_windows({{1, 10, max_time_ns - begin_ns, 1, 0}}), "a scan holds an impossible time");
  EXPECT_EQ(refusal_of_windows({{1, 10, 5, 5, max_runs_per_scan + 1}}),
            "a scan holds more runs of pages than any recorder's");
}

TEST(Residency, TheHeadIsChecked) {
  EXPECT_EQ(refusal_of_windows({}), "decoded");
  EXPECT_EQ(refusal_of_windows({}, {0, 1}), "a scan was made for an unknown cause");
  EXPECT_EQ(refusal_of_windows({}, {5, 1}), "a scan was made for an unknown cause");
  EXPECT_EQ(refusal_of_windows({}, {1, 1, max_address + 1}), "a scan names an impossible amount of memory");
  const Bytes none;
  EXPECT_EQ(refusal_of([&] { decode_residency(source_of(none), 1, 0); }),
            "a table claims more records than it holds");
}

TEST(Residency, MappingsRiseWithinTheAddressSpace) {
  constexpr std::uint64_t most = max_address / residency_unit_bytes;
  const auto refusal = [](std::uint64_t gap, std::uint64_t length) {
    const Bytes bytes = records({{1, 1, 3, 0, 0}, {gap, length, 3, 0, 0}});
    return refusal_of([&] { decode_mappings(source_of(bytes), 2); });
  };
  EXPECT_EQ(refusal(0, most - 2), "decoded");
  EXPECT_EQ(refusal(0, most - 1), "a scan leaves the address space");
  EXPECT_EQ(refusal(UINT64_MAX, 1), "a scan leaves the address space");
}

}  // namespace heapwright::trace::test
