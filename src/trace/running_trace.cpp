// SPDX-License-Identifier: MIT
#include "trace/running_trace.hpp"

#include <algorithm>

#include "trace/chunk_map.hpp"
#include "trace/tables.hpp"
#include "trace/writer.hpp"

namespace heapwright::trace {

End end_of_running(std::uint64_t events, std::uint64_t last_ns, std::span<const MemorySample> samples) {
  End end{.reason = EndReason::still_running, .time_ns = last_ns, .events = events};
  // A program that makes no calls has no events either; its memory is sampled anyway.
  for (const MemorySample& sample : samples) {
    end.time_ns = std::max(end.time_ns, sample.time_ns);
    end.recorder_peak_bytes = std::max(end.recorder_peak_bytes, sample.recorder_bytes);
  }
  end.time_ns = std::min(end.time_ns, max_time_ns);
  return end;
}

RunningTrace end_running(const std::string& path) {
  const InputFile file(path);
  require_readable(file, path);
  std::vector<Damage> damage;
  Tables tables;
  TableLoader loader(file, tables, damage);
  RunningTrace trace{.whole_bytes = sizeof(FileHeader), .end_chunk = {}};
  std::uint64_t events = 0;
  std::uint64_t last_ns = 0;
  for (const IndexEntry& entry : find_chunks(file, damage)) {
    trace.whole_bytes = entry.file_offset + entry.chunk_bytes;
    const auto kind = static_cast<ChunkKind>(entry.header.kind);
    if (kind == ChunkKind::end) return {.whole_bytes = file.bytes(), .end_chunk = {}};
    if (kind == ChunkKind::memory_samples) loader.load(entry);
    if (kind != ChunkKind::events) continue;
    events += entry.header.count;
    last_ns = std::max(last_ns, entry.header.last_end_ns);
  }
  trace.end_chunk = end_chunk_of(end_of_running(events, last_ns, tables.memory_samples));
  return trace;
}

}  // namespace heapwright::trace
