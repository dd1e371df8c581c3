// SPDX-License-Identifier: MIT
#include "trace/reader.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "trace/chunk_map.hpp"
#include "trace/decode_events.hpp"
#include "trace/input_file.hpp"
#include "trace/running_trace.hpp"
#include "trace/tables.hpp"

namespace heapwright::trace {

struct DecodeScratch::State {
  EventDecoder decoder;
  std::vector<std::uint8_t> chunk;
};

DecodeScratch::DecodeScratch() : state_(std::make_unique<State>()) {}
DecodeScratch::~DecodeScratch() = default;

struct Reader::State {
  State(const std::string& path, std::uint64_t most_bytes) : file(path, most_bytes) {}
  InputFile file;
  Tables tables;
  std::vector<EventChunk> chunks;
  std::vector<ScanChunk> scans;
  std::map<std::uint32_t, IndexEntry> mappings;  // by number
  std::vector<Damage> damage;
  std::uint64_t events = 0;

  void add_event_chunk(const IndexEntry& entry);
  void order_event_chunks();
  void end_here();
  void add_scan(const IndexEntry& entry);
  void add(const IndexEntry& entry, TableLoader& loader);
};

void Reader::State::add_event_chunk(const IndexEntry& entry) {
  const ChunkHeader& header = entry.header;
  const bool is_possible =
      header.count > 0 && header.count <= max_events_per_chunk &&
      header.thread < threads_below(file.bytes()) && header.first_begin_ns <= header.last_end_ns &&
      header.first_begin_ns <= max_time_ns && header.first <= UINT64_MAX - header.count &&
      entry.chunk_bytes <= max_payload_bytes;
  if (!is_possible) {
    damage.push_back({entry.file_offset, "a chunk of events has an impossible header"});
    return;
  }
  chunks.push_back({entry.file_offset, static_cast<std::uint32_t>(entry.chunk_bytes), header.thread,
                    header.count, header.first, header.first_begin_ns, header.last_end_ns});
}

// Sorts by thread, then sequence. A chunk that repeats events of the one before it, or goes back in time, can
// only come from damage.
void Reader::State::order_event_chunks() {
  std::sort(chunks.begin(), chunks.end(), [](const EventChunk& a, const EventChunk& b) {
    return std::tie(a.thread, a.first_sequence, a.file_offset) <
           std::tie(b.thread, b.first_sequence, b.file_offset);
  });
  std::vector<EventChunk> kept;
  kept.reserve(chunks.size());
  for (const EventChunk& chunk : chunks) {
    const bool is_first = kept.empty() || kept.back().thread != chunk.thread;
    const bool follows =
        is_first || (chunk.first_sequence >= kept.back().first_sequence + kept.back().count &&
                     chunk.first_begin_ns >= kept.back().first_begin_ns);
    if (!follows) {
      damage.push_back(
          {chunk.file_offset, "a chunk of events contradicts the one before it and was skipped"});
      continue;
    }
    kept.push_back(chunk);
    events += chunk.count;
  }
  chunks = std::move(kept);
}

void Reader::State::add_scan(const IndexEntry& entry) {
  const ChunkHeader& header = entry.header;
  const bool is_possible = header.first_begin_ns <= header.last_end_ns && header.last_end_ns <= max_time_ns &&
                           entry.chunk_bytes <= max_payload_bytes && scans.size() < max_scans;
  if (!is_possible) {
    damage.push_back({entry.file_offset, "a scan of resident pages has an impossible header"});
    return;
  }
  scans.push_back({entry.file_offset, static_cast<std::uint32_t>(entry.chunk_bytes), header.count,
                   header.thread, header.first, header.first_begin_ns, header.last_end_ns});
}

void Reader::State::add(const IndexEntry& entry, TableLoader& loader) {
  switch (static_cast<ChunkKind>(entry.header.kind)) {
    case ChunkKind::events:
      return add_event_chunk(entry);
    case ChunkKind::residency:
      return add_scan(entry);
    case ChunkKind::mappings:
      mappings.try_emplace(entry.header.thread, entry);
      return;
    default:
      return loader.load(entry);
  }
}

namespace {

// The result of `decode` for the chunk's records.
template <typename Decode>
auto decoded(const InputFile& file, const IndexEntry& entry, Decode decode) {
  std::vector<std::uint8_t> chunk;
  std::vector<std::uint8_t> records;
  const auto payload = read_chunk(file, entry, chunk);
  base::ByteSource source(payload.data(), payload.size());
  const auto unpacked = BlockUnpacker().unpack(source, max_table_bytes, records);
  return decode(base::ByteSource(unpacked.data(), unpacked.size()));
}

}  // namespace

void Reader::State::end_here() {
  std::uint64_t chunk_events = 0;
  std::uint64_t last_ns = 0;
  for (const EventChunk& chunk : chunks) {
    chunk_events += chunk.count;
    last_ns = std::max(last_ns, chunk.last_end_ns);
  }
  tables.end = end_of_running(chunk_events, last_ns, tables.memory_samples);
}

Reader::Reader(std::unique_ptr<State> state) : state_(std::move(state)) {}
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;
Reader::~Reader() = default;

Reader Reader::open(const std::string& path, std::uint64_t most_bytes) {
  auto state = std::make_unique<State>(path, most_bytes);
  require_readable(state->file, path);
  TableLoader loader(state->file, state->tables, state->damage);
  for (const IndexEntry& entry : find_chunks(state->file, state->damage)) {
    state->add(entry, loader);
  }
  std::stable_sort(state->scans.begin(), state->scans.end(),
                   [](const ScanChunk& a, const ScanChunk& b) { return a.begin_ns < b.begin_ns; });
  state->order_event_chunks();
  loader.finish(state->chunks.empty() ? 0 : std::size_t{state->chunks.back().thread} + 1);
  // A thread record gives its number of events only when the thread ends; until then, or if it is lost, the
  // chunks do.
  for (const EventChunk& chunk : state->chunks) {
    std::uint64_t& events = state->tables.threads[chunk.thread].events;
    events = std::max(events, chunk.first_sequence + chunk.count);
  }
  if (state->tables.end.reason != EndReason::missing) return Reader(std::move(state));
  if (state->file.is_being_written()) {
    state->end_here();
  } else {
    state->damage.push_back({state->file.bytes(),
                             "the end mark is missing: the recording did not end properly; "
                             "what was written before is read"});
  }
  return Reader(std::move(state));
}

const Metadata& Reader::metadata() const noexcept { return state_->tables.metadata; }
const std::vector<Module>& Reader::modules() const noexcept { return state_->tables.modules; }
const std::vector<Frame>& Reader::frames() const noexcept { return state_->tables.frames; }
const std::vector<StackNode>& Reader::stacks() const noexcept { return state_->tables.stacks; }
const std::vector<Thread>& Reader::threads() const noexcept { return state_->tables.threads; }
const std::vector<MemorySample>& Reader::memory_samples() const noexcept {
  return state_->tables.memory_samples;
}
const std::vector<Switch>& Reader::switches() const noexcept { return state_->tables.switches; }
const std::vector<ProcessorSample>& Reader::processor_samples() const noexcept {
  return state_->tables.processor_samples;
}
const std::vector<RefaultRun>& Reader::refaults() const noexcept { return state_->tables.refaults; }
const std::vector<PythonFrame>& Reader::python_frames() const noexcept {
  return state_->tables.python_frames;
}
const std::vector<CodeName>& Reader::code_names() const noexcept { return state_->tables.code_names; }
const EmbeddedNames* Reader::names() const noexcept {
  return state_->tables.has_names ? &state_->tables.names : nullptr;
}
const InputFile& Reader::file() const noexcept { return state_->file; }
const End& Reader::end() const noexcept { return state_->tables.end; }
const std::vector<EventChunk>& Reader::event_chunks() const noexcept { return state_->chunks; }
const std::vector<ScanChunk>& Reader::scans() const noexcept { return state_->scans; }
const std::vector<Damage>& Reader::damage() const noexcept { return state_->damage; }
std::uint64_t Reader::file_bytes() const noexcept { return state_->file.bytes(); }
std::uint64_t Reader::event_count() const noexcept { return state_->events; }

namespace {

IndexEntry entry_of(const EventChunk& chunk) {
  IndexEntry entry{chunk.file_offset, chunk.bytes, {}};
  entry.header.kind = static_cast<std::uint16_t>(ChunkKind::events);
  entry.header.count = chunk.count;
  entry.header.thread = chunk.thread;
  entry.header.first = chunk.first_sequence;
  entry.header.first_begin_ns = chunk.first_begin_ns;
  entry.header.last_end_ns = chunk.last_end_ns;
  return entry;
}

}  // namespace

std::uint64_t Reader::damaged_event_chunks() const {
  std::uint64_t damaged = 0;
  std::vector<std::uint8_t> memory;
  for (const EventChunk& chunk : event_chunks()) {
    try {
      read_chunk(state_->file, entry_of(chunk), memory);
    } catch (const TraceError&) {
      ++damaged;
    }
  }
  return damaged;
}

void Reader::decode(const EventChunk& chunk, DecodeScratch& scratch, EventBatch& batch) const {
  const IndexEntry entry = entry_of(chunk);
  DecodeScratch::State& memory = scratch.state();
  try {
    const auto payload = read_chunk(state_->file, entry, memory.chunk);
    const std::uint64_t last_end_ns = memory.decoder.decode(payload, chunk.count, chunk.first_begin_ns,
                                                            state_->tables.stacks.size(), batch);
    if (batch.begin_ns.front() != chunk.first_begin_ns || last_end_ns != chunk.last_end_ns) {
      throw TraceError("its times contradict its header");
    }
  } catch (const TraceError& error) {
    throw TraceError("the events of thread " + std::to_string(chunk.thread) + " from number " +
                     std::to_string(chunk.first_sequence) + " on are unreadable (" + error.what() +
                     "); copy the file again");
  }
}

ResidencyScan Reader::decode(const ScanChunk& chunk) const {
  IndexEntry entry{chunk.file_offset, chunk.bytes, {}};
  entry.header.kind = static_cast<std::uint16_t>(ChunkKind::residency);
  entry.header.count = chunk.count;
  entry.header.thread = chunk.mappings;
  entry.header.first = chunk.resident_bytes;
  entry.header.first_begin_ns = chunk.begin_ns;
  entry.header.last_end_ns = chunk.end_ns;
  ResidencyScan scan = decoded(state_->file, entry, [&](base::ByteSource source) {
    return decode_residency(source, chunk.count, chunk.begin_ns);
  });
  const bool is_in_time = scan.windows.empty() || scan.windows.back().end_ns <= chunk.end_ns;
  if (!is_in_time) throw TraceError("a scan's times contradict its header");
  return scan;
}

std::vector<Mapping> Reader::mappings_of(const ScanChunk& chunk) const {
  const auto found = state_->mappings.find(chunk.mappings);
  if (found == state_->mappings.end()) return {};
  return decoded(state_->file, found->second, [&](base::ByteSource source) {
    return decode_mappings(source, found->second.header.count);
  });
}

}  // namespace heapwright::trace
