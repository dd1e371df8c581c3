// SPDX-License-Identifier: MIT
#include "trace/residency.hpp"

#include <algorithm>

#include "trace/put_fields.hpp"
#include "trace/record_fields.hpp"

namespace heapwright::trace {

namespace {

void put_kernel_memory(Bytes& out, const KernelMemory& memory) {
  put(out, memory.anonymous_bytes);
  put(out, memory.file_bytes);
  put(out, memory.shared_bytes);
  put(out, memory.swapped_bytes);
  put(out, memory.page_table_bytes);
}

KernelMemory kernel_memory_field(base::ByteSource& record) {
  KernelMemory memory;
  memory.anonymous_bytes = field(record);
  memory.file_bytes = field(record);
  memory.shared_bytes = field(record);
  memory.swapped_bytes = field(record);
  memory.page_table_bytes = field(record);
  const std::uint64_t most = std::max({memory.anonymous_bytes, memory.file_bytes, memory.shared_bytes,
                                       memory.swapped_bytes, memory.page_table_bytes});
  require(most <= max_address, "a scan names an impossible amount of memory");
  return memory;
}

constexpr std::uint64_t units(std::uint64_t bytes) noexcept { return bytes / residency_unit_bytes; }

// `count` units beyond `from`; both are below max_address.
std::uint64_t advance(std::uint64_t from, std::uint64_t count) {
  require(count <= units(max_address - from), "a scan leaves the address space");
  return from + count * residency_unit_bytes;
}

std::uint64_t later(std::uint64_t time_ns, std::uint64_t passed_ns) {
  require(passed_ns <= max_time_ns - time_ns, "a scan holds an impossible time");
  return time_ns + passed_ns;
}

// length << 3 | is_huge << 2 | kind
PageRun run_field(base::ByteSource& record, std::uint64_t from) {
  PageRun run;
  run.begin = advance(from, record.varint());
  const std::uint64_t length_and_kind = record.varint();
  require((length_and_kind & 3U) <= static_cast<std::uint64_t>(PageKind::swapped),
          "a scan holds an unknown kind of page");
  run.kind = static_cast<PageKind>(length_and_kind & 3U);
  run.is_huge = (length_and_kind & 4U) != 0;
  run.end = advance(run.begin, length_and_kind >> 3U);
  return run;
}

void add_window(base::ByteSource record, ResidencyScan& scan, std::uint64_t begin_ns) {
  ScanWindow window;
  const bool is_first = scan.windows.empty();
  window.begin = advance(is_first ? 0 : scan.windows.back().end, field(record));
  window.end = advance(window.begin, field(record));
  window.begin_ns = later(is_first ? begin_ns : scan.windows.back().end_ns, field(record));
  window.end_ns = later(window.begin_ns, field(record));
  const std::uint64_t runs = field(record);
  require(runs <= max_runs_per_scan - scan.runs.size(),
          "a scan holds more runs of pages than any recorder's");
  window.first_run = static_cast<std::uint32_t>(scan.runs.size());
  window.run_count = static_cast<std::uint32_t>(runs);
  std::uint64_t at = window.begin;
  for (std::uint64_t index = 0; index < runs; ++index) {
    const PageRun run = run_field(record, at);
    require_read(record);
    require(run.begin < run.end && run.end <= window.end, "a run of pages leaves its window");
    scan.runs.push_back(run);
    at = run.end;
  }
  require_read(record);
  scan.windows.push_back(window);
}

}  // namespace

std::uint64_t ResidencyScan::resident_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const PageRun& run : runs) bytes += run.kind == PageKind::swapped ? 0 : run.end - run.begin;
  return bytes;
}

void encode_records(std::span<const Mapping> mappings, Bytes& out) {
  Bytes record;
  std::uint64_t last_end = 0;
  for (const Mapping& mapping : mappings) {
    record.clear();
    put(record, units(mapping.begin - last_end));
    put(record, units(mapping.end - mapping.begin));
    put(record, mapping.flags);
    put(record, units(mapping.file_offset));
    put_text(record, mapping.name);
    put_record(out, record);
    last_end = mapping.end;
  }
}

void encode_records(const ResidencyScan& scan, std::uint64_t begin_ns, Bytes& out) {
  Bytes record;
  put(record, static_cast<std::uint64_t>(scan.cause));
  put(record, scan.is_whole ? 1U : 0U);
  put_kernel_memory(record, scan.before);
  put_kernel_memory(record, scan.after);
  put(record, scan.cpu_ns);
  put_record(out, record);
  std::uint64_t last_end = 0;
  std::uint64_t last_ns = begin_ns;
  for (const ScanWindow& window : scan.windows) {
    record.clear();
    put(record, units(window.begin - last_end));
    put(record, units(window.end - window.begin));
    put(record, window.begin_ns - last_ns);
    put(record, window.end_ns - window.begin_ns);
    put(record, window.run_count);
    std::uint64_t at = window.begin;
    for (const PageRun& run : std::span(scan.runs).subspan(window.first_run, window.run_count)) {
      put(record, units(run.begin - at));
      put(record, (units(run.end - run.begin) << 3U) | (run.is_huge ? 4U : 0U) |
                      static_cast<std::uint64_t>(run.kind));
      at = run.end;
    }
    put_record(out, record);
    last_end = window.end;
    last_ns = window.end_ns;
  }
}

std::vector<Mapping> decode_mappings(base::ByteSource source, std::uint32_t count) {
  require_count(source, count);
  require(count <= max_mappings, "it holds more mappings than any recorder's");
  std::vector<Mapping> mappings(count);
  std::uint64_t last_end = 0;
  for (Mapping& mapping : mappings) {
    base::ByteSource record = next_record(source);
    mapping.begin = advance(last_end, field(record));
    mapping.end = advance(mapping.begin, field(record));
    mapping.flags = narrow_field<std::uint8_t>(record);
    const std::uint64_t offset_units = field(record);
    require(offset_units <= units(UINT64_MAX), "a mapping lies beyond its file");
    mapping.file_offset = offset_units * residency_unit_bytes;
    mapping.name = text_field(record);
    require_read(record);
    last_end = mapping.end;
  }
  return mappings;
}

ResidencyScan decode_residency(base::ByteSource source, std::uint32_t count, std::uint64_t begin_ns) {
  require_count(source, count);
  require(count >= 1 && count - 1 <= max_windows_per_scan, "a scan has an impossible number of windows");
  ResidencyScan scan;
  base::ByteSource head = next_record(source);
  const auto cause = narrow_field<std::uint8_t>(head);
  require(cause >= 1 && cause <= static_cast<std::uint8_t>(ScanCause::phase),
          "a scan was made for an unknown cause");
  scan.cause = static_cast<ScanCause>(cause);
  scan.is_whole = field(head) != 0;
  scan.before = kernel_memory_field(head);
  scan.after = kernel_memory_field(head);
  scan.cpu_ns = field(head);
  require_read(head);
  scan.windows.reserve(count - 1);
  for (std::uint32_t index = 1; index < count; ++index) add_window(next_record(source), scan, begin_ns);
  return scan;
}

}  // namespace heapwright::trace
