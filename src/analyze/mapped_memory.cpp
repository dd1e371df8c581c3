// SPDX-License-Identifier: MIT
#include "analyze/mapped_memory.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "trace/damage.hpp"
#include "trace/residency.hpp"

namespace heapwright::analyze {
namespace {

using ByName = std::map<std::string, MappedMemory>;

void add_pages(const trace::PageRun& run, std::uint64_t bytes, MappedMemory& memory) {
  switch (run.kind) {
    case trace::PageKind::anonymous:
      memory.anonymous_bytes += bytes;
      break;
    case trace::PageKind::file:
      memory.file_bytes += bytes;
      break;
    case trace::PageKind::swapped:
      memory.swapped_bytes += bytes;
      break;
  }
}

// Pages of a mapping that is newer than the list have no name.
void add_runs(const trace::ResidencyScan& scan, const std::vector<trace::Mapping>& mappings,
              ByName& by_name) {
  auto mapping = mappings.begin();
  for (const auto& run : scan.runs) {
    auto left = run.end - run.begin;
    while (mapping != mappings.end() && mapping->end <= run.begin) {
      ++mapping;
    }
    for (auto over = mapping; over != mappings.end() && over->begin < run.end; ++over) {
      const auto bytes = std::min(over->end, run.end) - std::max(over->begin, run.begin);
      add_pages(run, bytes, by_name[over->name]);
      left -= bytes;
    }
    if (left != 0) {
      add_pages(run, left, by_name[""]);
    }
  }
}

void add_scan(const order::Source& source, const trace::ScanChunk& chunk, std::vector<MappedMemory>& found) {
  ByName by_name;
  try {
    const auto scan = source.decode(chunk);
    auto mappings = source.mappings_of(chunk);
    std::ranges::sort(mappings, {}, &trace::Mapping::begin);
    for (const auto& mapping : mappings) {
      auto& memory = by_name[mapping.name];
      ++memory.mappings;
      memory.mapped_bytes += mapping.end - mapping.begin;
    }
    add_runs(scan, mappings, by_name);
  } catch (const trace::TraceError&) {
    return;
  }
  for (auto& [name, memory] : by_name) {
    memory.name = name;
    memory.time_ns = chunk.begin_ns;
    found.push_back(memory);
  }
}

}  // namespace

std::vector<MappedMemory> mapped_memory_of(const order::Source& source, std::uint64_t from_ns,
                                           std::uint64_t to_ns, std::size_t most_scans) {
  std::vector<trace::ScanChunk> scans;
  for (const auto& scan : source.scans()) {
    if (scan.begin_ns >= from_ns && scan.begin_ns < to_ns) {
      scans.push_back(scan);
    }
  }
  const auto count = std::min(scans.size(), most_scans);
  std::vector<MappedMemory> found;
  for (std::size_t i = 1; i <= count; ++i) {
    add_scan(source, scans[i * scans.size() / count - 1], found);
  }
  return found;
}

std::vector<MappedMemory> mapped_memory_of(const trace::Reader& reader, std::uint64_t from_ns,
                                           std::uint64_t to_ns, std::size_t most_scans) {
  return mapped_memory_of(*order::make_source(reader), from_ns, to_ns, most_scans);
}

}  // namespace heapwright::analyze
