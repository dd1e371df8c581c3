// SPDX-License-Identifier: MIT
// Opens any bytes as a trace and decodes all of it; bytes that do not begin
// like a trace are decoded as the payload of one event chunk, after two bytes
// for the number of events. Checksums are not checked in this build
// (HEAPWRIGHT_TRACE_UNCHECKED), so that the bytes behind them are reached.
// Every promise of reader.hpp is checked on what comes out.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "trace/decode_events.hpp"
#include "trace/format.hpp"
#include "trace/heap_graph.hpp"
#include "trace/reader.hpp"

namespace {

using namespace heapwright::trace;

void require(bool is_so) {
  if (!is_so) std::abort();
}

class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("trace", MFD_CLOEXEC)) { require(descriptor_ >= 0); }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  void put(const std::uint8_t* data, std::size_t bytes) {
    require(ftruncate(descriptor_, 0) == 0);
    require(pwrite(descriptor_, data, bytes, 0) == static_cast<ssize_t>(bytes));
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

void check_names(const EmbeddedNames& names, std::size_t frames) {
  require(names.first_location.size() == frames + 1 && !names.strings.empty() && names.strings[0].empty());
  for (std::size_t i = 0; i < frames; ++i) require(names.first_location[i] <= names.first_location[i + 1]);
  require(names.first_location[frames] <= names.locations.size());
  for (const Location& location : names.locations) {
    require(location.function < names.strings.size() && location.file < names.strings.size());
  }
}

void check_tables(const Reader& reader) {
  const auto& threads = reader.threads();
  for (std::size_t i = 0; i < threads.size(); ++i) require(threads[i].index == i);
  for (const Frame& frame : reader.frames()) {
    require(frame.module == Frame::no_module || frame.module < reader.modules().size());
  }
  if (const EmbeddedNames* names = reader.names()) check_names(*names, reader.frames().size());
  const auto& stacks = reader.stacks();
  require(!stacks.empty());
  for (std::size_t id = 1; id < stacks.size(); ++id) {
    const std::uint32_t frame = stacks[id].frame;
    require(stacks[id].parent < id);
    require(frame < reader.frames().size() || is_mark(frame));
  }
}

void check_events(const EventBatch& batch, std::size_t stacks, std::uint64_t last_end_ns) {
  std::size_t next_told = 0;
  for (const EventKernelWork& told : batch.kernel) {
    require(told.event >= next_told && told.event < batch.count());
    next_told = std::size_t{told.event} + 1;
  }
  for (std::size_t i = 0; i < batch.count(); ++i) {
    require(static_cast<std::size_t>(batch.kind[i]) < event_kind_limit);
    require(batch.stack[i] < stacks);
    require(i == 0 || batch.begin_ns[i] >= batch.begin_ns[i - 1]);
    require(batch.begin_ns[i] + batch.duration_ns[i] <= last_end_ns);
  }
}

void check_scan(const ResidencyScan& scan) {
  std::uint64_t end = 0;
  std::uint64_t end_ns = 0;
  std::size_t run = 0;
  for (const ScanWindow& window : scan.windows) {
    require(window.begin >= end && window.begin <= window.end && window.end <= max_address);
    require(window.begin_ns >= end_ns && window.begin_ns <= window.end_ns);
    require(window.first_run == run && window.run_count <= scan.runs.size() - run);
    end = window.begin;
    for (; run < window.first_run + window.run_count; ++run) {
      require(scan.runs[run].begin >= end && scan.runs[run].begin < scan.runs[run].end);
      end = scan.runs[run].end;
    }
    require(end <= window.end);
    end = window.end;
    end_ns = window.end_ns;
  }
  require(run == scan.runs.size());
}

void check_mappings(const std::vector<Mapping>& mappings) {
  std::uint64_t end = 0;
  for (const Mapping& mapping : mappings) {
    require(mapping.begin >= end && mapping.begin <= mapping.end && mapping.end <= max_address);
    end = mapping.end;
  }
}

void check_scans(const Reader& reader) {
  for (const ScanChunk& chunk : reader.scans()) {
    try {
      check_mappings(reader.mappings_of(chunk));
      check_scan(reader.decode(chunk));
    } catch (const TraceError&) {
      continue;
    }
  }
}

void decode_payload(const std::uint8_t* data, std::size_t bytes, EventBatch& batch) {
  static EventDecoder decoder;
  constexpr std::size_t stacks = 1000;
  if (bytes < 2) return;
  const std::size_t count = (data[0] | std::size_t{data[1]} << 8U) % (max_events_per_chunk + 1);
  try {
    const std::uint64_t last_end_ns = decoder.decode({data + 2, bytes - 2}, count, 1600, stacks, batch);
    check_events(batch, stacks, last_end_ns);
  } catch (const TraceError&) {
    return;
  }
}

void check_graphs(const Reader& reader) {
  for (const std::uint64_t time_ns : heap_graph_times(reader)) {
    try {
      const HeapGraph graph = read_heap_graph(reader, time_ns);
      for (const GraphNode& node : graph.nodes) require(node.stack < reader.stacks().size());
      for (const GraphEdge& edge : graph.edges) {
        require(edge.from < graph.nodes.size() + graph.roots.size() && edge.to < graph.nodes.size());
      }
      require(graph.types.empty() || graph.type_of.size() == graph.nodes.size());
      for (const std::uint32_t type : graph.type_of) require(type <= graph.types.size());
    } catch (const TraceError&) {
      continue;
    }
  }
}

void read_trace(const std::uint8_t* data, std::size_t bytes, EventBatch& batch) {
  static MemoryFile file;
  static DecodeScratch scratch;
  file.put(data, bytes);
  const Reader reader = Reader::open(file.path());
  check_tables(reader);
  check_scans(reader);
  check_graphs(reader);
  for (const EventChunk& chunk : reader.event_chunks()) {
    try {
      reader.decode(chunk, scratch, batch);
    } catch (const TraceError&) {
      continue;
    }
    require(batch.count() == chunk.count && chunk.thread < reader.threads().size());
    require(batch.begin_ns.front() == chunk.first_begin_ns);
    check_events(batch, reader.stacks().size(), chunk.last_end_ns);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  static EventBatch batch;
  if (bytes == 0 || static_cast<char>(data[0]) != file_magic[0]) {
    decode_payload(data, bytes, batch);
    return 0;
  }
  try {
    read_trace(data, bytes, batch);
  } catch (const TraceError&) {
    return 0;
  }
  return 0;
}
